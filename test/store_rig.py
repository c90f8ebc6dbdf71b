"""What the tests of models by name share: stores and bundles that are made and thrown away, running the
program with them, TAP."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

from tool_rig import FOLDER, GLIM, SECONDS, an_error, checked

LLAMA = "test/data/llama.gguf"
QWEN = "test/data/qwen3.gguf"
GEMMA = "test/data/gemma4-e2b.gguf"
LFM = "test/data/lfm2.gguf"
MEDIA = "application/vnd.ollama.image."
HOST, SPACE = "registry.ollama.ai", "library"


# ---- Stores --------------------------------------------------------------------------------------

HOME = pathlib.Path(FOLDER.name, "home")
HOME.mkdir()


class Store:
    """A store in a new folder."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name))
        (self.path / "blobs").mkdir()

    def blob(self, data, sep="-"):
        """Stores bytes; returns their digest."""
        digest = hashlib.sha256(data).hexdigest()
        (self.path / "blobs" / f"sha256{sep}{digest}").write_bytes(data)
        return digest

    def layer(self, kind, data, sep="-"):
        media = kind if "/" in kind else MEDIA + kind
        return {"mediaType": media, "digest": "sha256:" + self.blob(data, sep), "size": len(data)}

    def manifest(self, name, text):
        """Writes a manifest as it is, at HOST/NAMESPACE/MODEL/TAG."""
        path = self.path / "manifests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def add(self, name, *layers, model=LLAMA):
        """A model with these layers besides its GGUF; the whole manifest as Ollama writes it."""
        parts = name.replace(":", "/", 1) if "/" not in name else name
        full = parts if parts.count("/") == 3 else f"{HOST}/{SPACE}/{parts}"
        gguf = [self.layer("model", pathlib.Path(model).read_bytes())] if model else []
        config = self.layer("application/vnd.docker.container.image.v1+json", b"{}")
        self.manifest(full, json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": config, "layers": [*gguf, *layers]}))
        return full


def glim(*args, store=None, models=None, home=HOME, stdin=b"", code=None, quiet=False, cwd=None):
    """Runs it with a store's folder, or another value, as OLLAMA_MODELS."""
    env = {k: v for k, v in os.environ.items() if k not in ("OLLAMA_MODELS", "HOME")}
    value = models if models is not None else str(store.path) if store else None
    if value is not None:
        env["OLLAMA_MODELS"] = value
    if home is not None:
        env["HOME"] = str(home)
    done = subprocess.run([os.path.abspath(GLIM), *args], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, timeout=SECONDS, cwd=cwd)
    return checked(args, done, code, quiet)


def fails(*words, args, code=1, **options):
    """An error: nothing on stdout, one line on stderr that has all words."""
    return an_error(glim(*args, code=code, **options), words)


def listed(store, **options):
    """The models of a store by name (others may be on this machine)."""
    d = json.loads(glim("list", "--json", store=store, code=0, **options).text)
    return {m["name"]: m for m in d["models"] if m["store"].startswith(FOLDER.name)}


def answer(name, *flags, store=None, **options):
    return glim("run", name, "--raw", "--temp", "0", "-n", "6", "--quiet", *flags, "the small engine",
                store=store, code=0, quiet=True, **options).text


PLAIN = answer(os.path.abspath(LLAMA))


def bundle(folder, name="b.json", **change):
    path = pathlib.Path(folder, name)
    d = {"inference_type": "llama.cpp/text-to-text", "schema_version": "1.0.0",
         "load_time_parameters": {"model": "../parts/model.gguf"},
         "generation_time_parameters": {"sampling_parameters": {"temperature": 0, "min_p": 0.15,
                                                                "repetition_penalty": 1.05}}}
    d.update(change)
    path.write_text(json.dumps(d))
    return str(path)


def talk(*texts):
    path = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name), "talk.json")
    roles = ["user", "assistant"]
    path.write_text(json.dumps([{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)]))
    return str(path)
