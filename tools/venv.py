"""Make .venv and install a lock file into it, using only Python's standard library.

    python3 tools/venv.py requirements.lock [requirements-dev.lock ...]

Does nothing if .venv is up to date. Also works where venv cannot install pip (Debian without
python3-venv), if the system has pip. The syntax is valid for old Python versions, so that they can
report that they are too old.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
#: `schedweb` is manage.py, from any folder.
LAUNCHER = os.path.join(VENV, "bin", "schedweb")
LAUNCH = f"""#!/bin/sh
exec '{PYTHON}' '{os.path.join(ROOT, "manage.py")}' "$@"
"""
STAMP = os.path.join(VENV, "installed.json")
OLDEST = (3, 11)
#: The first pip that installs into another environment (--python).
OLDEST_PIP = (22, 3)


def main(locks):
    if sys.version_info < OLDEST:
        version = ".".join(str(number) for number in sys.version_info[:3])
        sys.exit(
            f"Python 3.11 or newer is needed, and {sys.executable} is {version}; "
            "name another one: make PYTHON=python3.12"
        )
    wanted = {name: digest(os.path.join(ROOT, name)) for name in locks}
    done = installed() if works(PYTHON, "-c", "") else None
    if done is None:
        shutil.rmtree(VENV, ignore_errors=True)
        run(sys.executable, "-m", "venv", "--without-pip", VENV)
        done = {}
    launch()
    missing = [name for name in locks if done.get(name) != wanted[name]]
    if not missing:
        return
    print(f"installing {' and '.join(missing)} into .venv", flush=True)
    options = ["--require-hashes", "--quiet", "--quiet", "--disable-pip-version-check"]
    for name in missing:
        run(*pip(), "install", *options, "--requirement", os.path.join(ROOT, name))
        done[name] = wanted[name]
    with open(STAMP, "w") as file:
        json.dump(done, file)


def launch():
    """Write the command `schedweb`, if it is not there."""
    if not os.path.exists(LAUNCHER):
        with open(LAUNCHER, "w") as file:
            file.write(LAUNCH)
        os.chmod(LAUNCHER, 0o755)


def pip():
    """The command of a pip that installs into .venv."""
    if works(PYTHON, "-m", "pip", "--version"):
        return [PYTHON, "-m", "pip"]
    if system_pip() >= OLDEST_PIP:
        return [sys.executable, "-m", "pip", "--python", PYTHON]
    if works(PYTHON, "-m", "ensurepip", "--upgrade"):
        return [PYTHON, "-m", "pip"]
    package = "python{}.{}-venv".format(*sys.version_info)
    sys.exit(
        f"{sys.executable} has neither pip nor the module ensurepip, so nothing can be installed.\n"
        f"On Debian and Ubuntu install one of the packages python3-pip or {package}, as root:\n"
        "    apt-get install python3-pip"
    )


def system_pip():
    finished = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, text=True, check=False
    )
    words = finished.stdout.split()
    if finished.returncode != 0 or len(words) < 2:
        return (0, 0)
    return tuple(int(part) for part in words[1].split(".")[:2] if part.isdigit())


def installed():
    """The content of the stamp file; {} without one."""
    try:
        with open(STAMP) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def works(*command):
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run(*command):
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        sys.exit("failed: " + " ".join(command))


if __name__ == "__main__":
    main(sys.argv[1:])
