"""manage.py in a process that has loaded Django already: `serve SOCKET`, and `SOCKET ARGUMENTS…`.

The second form hands its arguments, folder and streams to a fork of the first one, and ends with
its exit code. A command takes a tenth of a second then instead of some seconds.
"""

import array
import json
import os
import socket
import sys
import traceback


def serve(address: str) -> None:
    import django
    from django.conf import settings

    django.setup()
    assert settings.DATABASES
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                if os.fork() == 0:
                    os._exit(_run(client))
                os._exit(0)
            client.close()
            os.wait()


def _run(client: socket.socket) -> int:
    from django.core.management import execute_from_command_line

    message, streams, _, _ = socket.recv_fds(client, 65536, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    request = json.loads(message)
    os.chdir(request["folder"])
    code = 0
    try:
        execute_from_command_line(["manage.py", *request["arguments"]])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    client.sendall(bytes([code]))
    return code


def ask(address: str, arguments: list[str]) -> int:
    message = json.dumps({"arguments": arguments, "folder": os.getcwd()}).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        server.sendmsg([message], rights)
        return (server.recv(1) or b"\1")[0]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
