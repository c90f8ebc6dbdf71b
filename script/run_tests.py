#!/usr/bin/env python3
"""Builds and runs every check and test, from the root of a checkout (./dev test calls it).

The last line is "N passed, N failed" (and ", N skipped" where something could not be run); the exit
status is 0 only when nothing failed. A check, a build and a fuzz target count as one test each; a
test program counts as many as it reports. One that reports none, crashes, hangs, or fails after its
last test counts as a failure.
"""
import concurrent.futures
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = "models/SmolLM2-135M-Instruct.Q4_1.gguf"
JOBS = str(os.cpu_count() or 2)
PROGRAM_SECONDS = 600  # long for a busy machine: they take seconds
FUZZ_SECONDS = 5
CLANG_FORMAT = "14"  # other versions lay some lines out differently

# What is built with what, and which test programs run there (a regular expression on their names).
# gcc's optimised build is what ships; clang's runs the arithmetic only. oom is asan and ubsan with
# asserts on, each arena request an allocation of its own, so that its edges are guarded too. tsan
# runs what starts threads. shrink has limits that are met early. A real model is too slow for
# these, and the GPU's library is not instrumented.
MATRIX = [
    ("gcc", "release", "."),
    ("clang", "release", "attend|f16|golden|isa|llama|ops|quant|fast"),
    ("clang", "oom", "^(?!test_reference|test_gpu)"),
    ("clang", "tsan", "^(?!test_gpu).*(answer|attend|golden|pool|session|engine)"),
    ("gcc", "shrink", "^(?!test_reference|test_gpu)"),
]

count = {"passed": 0, "failed": 0, "skipped": 0}
failures = []
lock = threading.Lock()


def report(name, passed=0, failed=0, skipped=0, seconds=0.0, output="", why=""):
    with lock:
        count["passed"] += passed
        count["failed"] += failed
        count["skipped"] += skipped
        word = "FAIL" if failed else "ok  " if passed else "skip"
        numbers = f"{passed} passed" + (f", {failed} failed" if failed else "")
        numbers += f", {skipped} skipped" if skipped else ""
        detail = numbers if passed + failed + skipped > 1 else ""
        print(f"{word} {name:<42} {seconds:6.1f} s  {detail}{'  ' + why if why else ''}".rstrip(),
              flush=True)
        if failed:
            failures.append(name)
            print("\n".join("    | " + line for line in output.splitlines()[-80:]), flush=True)


def run(command, seconds=900, env=None):
    """Runs a command; returns (status, output, seconds taken). A hang has status 124."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as f:
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f,
                                    stderr=subprocess.STDOUT, timeout=seconds, cwd=ROOT,
                                    env={**os.environ, **(env or {})}).returncode
        except subprocess.TimeoutExpired:
            status = 124
        except OSError as e:
            f.write(str(e).encode())
            status = 127
        f.seek(0)
        output = f.read().decode("utf-8", "replace")
    if status == 124:
        output += f"\nstopped after {seconds} s"
    return status, output, time.monotonic() - start


def check(name, command, env=None, seconds=900):
    """One command that must succeed. Returns whether it did."""
    status, output, took = run(command, seconds, env)
    report(name, int(status == 0), int(status != 0), 0, took, output)
    return status == 0


def expect(name, problems, start):
    """One check made here: fails with the list of problems."""
    report(name, int(not problems), int(bool(problems)), 0, time.monotonic() - start,
           "\n".join(problems))


def skip(name, why):
    report(name, skipped=1, why=why)


# ---- Checks of the sources -----------------------------------------------------------------------

LIBRARY_CALLS = re.compile(r"(?<![\w.>])(getenv|secure_getenv|_?exit|_Exit|abort|v?f?printf|puts|"
                           r"fputs|putchar|perror)\s*\(")
MACHINE = re.compile(r"/(?:work|root)/|/home/\w")


def check_words():
    """The library neither prints nor exits nor reads the environment; no file names a machine."""
    start, problems = time.monotonic(), []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if parts[0] in (".git", "build", "models") or "corpus" in parts or not path.is_file():
            continue
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        library = parts[0] in ("src", "include") and parts[1] != "tool"
        for number, line in enumerate(lines, 1):
            code = re.sub(r'"(\\.|[^"\\])*"|//.*|/\*.*?(\*/|$)|^\s*\*.*', '""', line)
            if library and LIBRARY_CALLS.search(code):
                problems.append(f"{'/'.join(parts)}:{number}: not in the library: {line.strip()}")
            if MACHINE.search(line):
                problems.append(f"{'/'.join(parts)}:{number}: a machine's path: {line.strip()}")
    expect("words", problems, start)


def check_sources(clang):
    check("folder order", ["make", "-s", "check-folders"])
    check_words()
    check("headers compile alone (gcc)", ["make", "-s", "-j" + JOBS, "headers", "CC=gcc"])
    if clang:
        check("headers compile alone (clang)", ["make", "-s", "-j" + JOBS, "headers", "CC=clang"])
        check("glim.h is C++", ["clang", "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror",
                                "-Wno-pragma-once-outside-header", "-fsyntax-only",
                                "include/glim.h"])
    version = run(["clang-format", "--version"])[1] if shutil.which("clang-format") else ""
    if re.search(rf"version {CLANG_FORMAT}\.", version):
        check("format", ["make", "-s", "check-format"])
    else:
        skip("format", f"clang-format {CLANG_FORMAT} is not installed")


# ---- Test programs -------------------------------------------------------------------------------


def count_tap(output):
    """Counts a test program's TAP lines: (passed, failed, skipped, planned)."""
    passed = failed = skipped = planned = 0
    for line in output.splitlines():
        plan = re.match(r"1\.\.(\d+)", line)
        m = re.match(r"(not )?ok \d+( # SKIP)?", line)
        if plan:
            planned += int(plan[1])
        elif m and m[2]:
            skipped += 1
        elif m and m[1]:
            failed += 1
        elif m:
            passed += 1
    return passed, failed, skipped, planned


# Newer kernels place memory where older sanitizers do not expect it.
FIXED_LAYOUT = ["setarch", "-R"] if run(["setarch", "-R", "true"])[0] == 0 else []
ENV = {
    "CMOCKA_MESSAGE_OUTPUT": "tap",
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=1:handle_segv=2",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def run_program(program, label):
    prefix = [] if label.endswith("release") else FIXED_LAYOUT
    run_tap(f"{os.path.basename(program)} ({label})", prefix + [program])


def run_tap(name, command):
    """One program that reports its tests as TAP."""
    status, output, took = run(command, PROGRAM_SECONDS, ENV)
    passed, failed, skipped, planned = count_tap(output)
    why = ""
    missing = planned - (passed + failed + skipped)
    if missing > 0:
        failed += missing
        why = f"{missing} tests did not report"
    elif planned == 0:
        failed += 1
        why = "no tests were reported"
    elif status != 0 and failed == 0:
        failed += 1
        why = "failed outside its tests"
    if failed:
        why += f" (exit status {status})"
    report(name, passed, failed, skipped, took, output, why.strip())


def run_matrix(pool, clang):
    for compiler, config, pattern in MATRIX:
        label = f"{compiler} {config}"
        if compiler == "clang" and not clang:
            skip(f"build ({label})", "clang is not installed")
            continue
        make = ["make", "-s", "-k", "-j" + JOBS, "CC=" + compiler, "config=" + config, "werror=1"]
        built = check(f"build ({label})", make + ["all", "tests"])
        folder = "build/" + ("clang-" if compiler == "clang" else "") + config + "/test/"
        names = sorted(os.path.basename(p)[:-2] for p in glob.glob(str(ROOT / "test/test_*.c")))
        chosen = [n for n in names if re.search(pattern, n)]
        if not built:  # what did build is still worth running
            chosen = [n for n in chosen if run(make + [folder + n])[0] == 0]
        list(pool.map(lambda n: run_program(folder + n, label), chosen))


# ---- Fuzz targets --------------------------------------------------------------------------------


def run_fuzz(name):
    program, corpus = f"build/clang-fuzz/test/{name}", f"test/corpus/{name[5:]}"
    seeds = [corpus] if (ROOT / corpus).is_dir() else []
    limits = ["-rss_limit_mb=2048", "-timeout=10", f"-artifact_prefix=build/fuzz-{name}-"]
    if seeds:
        check(f"{name} corpus", FIXED_LAYOUT + [program, "-runs=0"] + limits + seeds)
    else:
        report(f"{name} corpus", failed=1, output=f"{corpus} is missing")
    with tempfile.TemporaryDirectory() as found:
        check(f"{name} {FUZZ_SECONDS} s",
              FIXED_LAYOUT + [program, f"-max_total_time={FUZZ_SECONDS}"] + limits + [found] + seeds)


def run_fuzzers(pool, clang):
    names = sorted(os.path.basename(p)[:-2] for p in glob.glob(str(ROOT / "test/fuzz_*.c")))
    if not clang:  # gcc has no libFuzzer, its programs only replay
        make = ["make", "-s", "-j" + JOBS, "CC=gcc", "werror=1", "fuzzers"]
        built = check("build (fuzz targets)", make)
        for name in names if built else []:
            check(f"{name} corpus", [f"build/release/test/{name}", f"test/corpus/{name[5:]}"])
        for name in names:
            skip(f"{name} {FUZZ_SECONDS} s", "clang is not installed")
    elif check("build (fuzz targets)", ["make", "-s", "-j" + JOBS, "CC=clang", "config=fuzz",
                                        "werror=1", "fuzzers"]):
        list(pool.map(run_fuzz, names))


# ---- The product ---------------------------------------------------------------------------------


def foreign_symbols(command):
    return [s for s in subprocess.run(command, capture_output=True, text=True, cwd=ROOT,
                                      check=True).stdout.split("\n")
            if s and not s.endswith(":") and not re.match(r"glim_", s.split()[0])]


def check_symbols():
    start = time.monotonic()
    listing = ["nm", "--defined-only", "-P"]
    expect("symbols of libglim.so", foreign_symbols(listing + ["-D", "build/release/libglim.so"]),
           start)
    expect("symbols of libglim.a", foreign_symbols(listing + ["-g", "build/release/libglim.a"]),
           start)


def readme_example():
    path = ROOT / "README.md"
    text = path.read_text() if path.exists() else ""
    m = re.search(r"<!-- example\.c -->\s*```c\n(.*?)```", text, re.S)
    return m[1] if m else None


def check_installed(clang):
    """Installs into a folder, compiles the README's example against it in all ways, and runs it."""
    prefix = "/opt/glim"
    with tempfile.TemporaryDirectory() as folder:
        make = ["make", "-s", "DESTDIR=" + folder, "PREFIX=" + prefix]
        if not check("make install", make + ["install", "werror=1"]):
            return
        example = readme_example()
        if example is None:
            report("README example", failed=1, output="README.md has no <!-- example.c --> block")
        elif not shutil.which("pkg-config"):
            skip("README example", "pkg-config is not installed")
        else:
            run_example(folder, prefix, example, clang)
        if check("make uninstall", make + ["uninstall"]):
            left = [str(p) for p in pathlib.Path(folder + prefix).rglob("*") if not p.is_dir()]
            expect("uninstall leaves nothing", left, time.monotonic())


def run_example(folder, prefix, example, clang):
    source = os.path.join(folder, "example.c")
    pathlib.Path(source).write_text(example)
    env = {"PKG_CONFIG_PATH": "", "PKG_CONFIG_SYSROOT_DIR": folder,
           "PKG_CONFIG_LIBDIR": folder + prefix + "/lib/pkgconfig"}
    library = folder + prefix + "/lib"
    model = MODEL if (ROOT / MODEL).exists() else "test/data/llama.gguf"
    for compiler in ["gcc"] + (["clang"] if clang else []):
        for kind in ["shared", "static"]:
            flags = run(["pkg-config", "--cflags", "--libs"] +
                        (["--static"] if kind == "static" else []) + ["glim"], 60, env)[1].split()
            if kind == "static":
                flags = [library + "/libglim.a" if f == "-lglim" else f for f in flags]
            program = os.path.join(folder, f"example-{compiler}-{kind}")
            name = f"README example ({compiler}, {kind})"
            if check(name + " compiles", [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror",
                                          source, "-o", program] + flags):
                check(name + " runs", [program, model], {"LD_LIBRARY_PATH": library})


def check_amalgamation(clang):
    if not check("amalgamation", ["make", "-s", "amalgamation"]):
        return
    for compiler in ["gcc"] + (["clang"] if clang else []):
        check(f"amalgamation compiles ({compiler})",
              [compiler, "-std=gnu11", "-O1", "-Wall", "-Wno-unused-function", "-Werror",
               "-ffp-contract=off", "-Ibuild", "-fvisibility=hidden", "-pthread", "-c",
               "build/glim_amalgamated.c", "-o", f"build/amalgamated-{compiler}.o"])


def check_scripts(pool):
    """Tests of the program: test/test_*.sh (one test each) and test/test_*.py (TAP)."""
    for path in sorted(glob.glob("test/test_*.sh", root_dir=ROOT)):
        check(path, ["sh", path], ENV)
    sanitized = "build/clang-asan/glim"
    programs = ["build/glim"] + [sanitized] * (ROOT / sanitized).exists()
    jobs = [(path, p) for path in sorted(glob.glob("test/test_*.py", root_dir=ROOT))
            for p in programs]
    list(pool.map(lambda job: run_tap(f"{job[0]} ({job[1]})",
                                      FIXED_LAYOUT + ["python3", *job]), jobs))


def main():
    os.chdir(ROOT)
    start = time.monotonic()
    clang = shutil.which("clang") is not None
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        check_sources(clang)
        run_matrix(pool, clang)
        check_symbols()
        check_scripts(pool)
        check_amalgamation(clang)
        check_installed(clang)
        run_fuzzers(pool, clang)
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    print(f"took {minutes} min {seconds} s")
    if failures:
        print("failed: " + "; ".join(failures))
    print(f"{count['passed']} passed, {count['failed']} failed" +
          (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if count["failed"] else 0


sys.exit(main())
