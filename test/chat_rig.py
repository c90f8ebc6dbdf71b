"""What the tests of glim chat share: a model that can chat, and a person at a terminal."""
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

from tool_rig import FOLDER, GLIM, SECONDS, glim, templated, terminal

TEMPLATE = (b"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']"
            b" + '<|im_end|>' + '\\n'}}{% endfor %}"
            b"{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
STATE = os.path.join(FOLDER.name, "state")
ENV = {**os.environ, "XDG_STATE_HOME": STATE, "TERM": "xterm", "EDITRC": "/dev/null", "LC_ALL": "C"}


CHATTY = templated("chatty.gguf", TEMPLATE, {b"<|start_header_id|>": b"<|im_start|>", b"<|eot_id|>": b"<|im_end|>"})
BASE = ["chat", CHATTY, "--temp", "0", "--exact"]


def piped(text, *flags, code=0, quiet=False):
    return glim(*BASE, *flags, stdin=text.encode(), code=code, quiet=quiet, env=ENV)


def ids(text):
    return glim("tokenize", "-m", CHATTY, stdin=text.encode(), code=0).text.split()[1:]  # not the begin


def stats(said):
    """Per turn: tokens of the prompt, those cached and new, of the answer, in the context."""
    rows = re.findall(r"\[prompt: (\d+) tokens \((\d+) cached, (\d+) new\).*?; answer: (\d+) tokens?.*?; "
                      r"context: (\d+) of 1024 tokens[;\]]", said)
    return [tuple(map(int, r)) for r in rows]


class Terminal:
    """glim chat with a person in front. stdout is the terminal too, unless it is given."""

    def __init__(self, *args, stdout=None, env=ENV):
        self.parent, child = terminal()
        self.modes = termios.tcgetattr(self.parent)  # before the program can change them
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("<4H", 40, 100, 0, 0))

        def attach():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.p = subprocess.Popen([GLIM, *args], stdin=child, stdout=child if stdout is None else stdout,
                                  stderr=child, start_new_session=True, preexec_fn=attach, env=env)
        os.close(child)
        self.seen, self.at = b"", 0  # all that came; how much of it was waited for

    def until(self, *words):
        """Reads on until all words came, in this order. Returns the text up to the end of the last;
        the next call begins there."""
        start, limit = self.at, time.monotonic() + SECONDS
        for word in words:
            while (found := self.seen.find(word.encode(), self.at)) < 0:
                ready = select.select([self.parent], [], [], max(limit - time.monotonic(), 0))[0]
                try:
                    more = os.read(self.parent, 4096) if ready else b""
                except OSError:  # how Linux reports that the other side is closed
                    more = b""
                assert more, f"'{word}' did not come: {self.seen}"
                self.seen += more
            self.at = found + len(word.encode())
        return self.seen[start:self.at].decode("utf-8", "replace")

    def type(self, keys):
        os.write(self.parent, keys.encode())

    def say(self, keys):
        """Once there is a prompt, types a line."""
        self.prompt()
        self.type(keys + "\r")

    def prompt(self, words="> "):
        """Until keys are read: what is typed before belongs to the terminal still."""
        text = self.until("\x1b[?2004h", words)
        while not self.is_editing():
            time.sleep(0.005)
        return text

    def is_editing(self):
        return not termios.tcgetattr(self.parent)[3] & termios.ICANON

    def end(self, code):
        """What the program shows until it ends, with this exit status."""
        while select.select([self.parent], [], [], SECONDS)[0]:
            try:
                more = os.read(self.parent, 4096)
            except OSError:
                break
            if not more:
                break
            self.seen += more
        assert self.p.wait(SECONDS) == code, (self.p.returncode, self.seen)
        os.close(self.parent)
        return self.seen.decode("utf-8", "replace")
