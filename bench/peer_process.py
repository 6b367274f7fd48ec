"""Programs that take turns: each answers a line on stdin by a line of JSON, and is stopped while another one measures, so that threads
which wait by spinning take nothing from whoever has its turn."""
import atexit
import json
import os
import select
import signal
import subprocess
import sys

from sides import die_with_parent

LIMIT_SECONDS = 1800  # of one answer, compiling included
RUNNING = set()


class Process:
    """A program and its children, which are a process group of their own, on so many cores."""

    def __init__(self, command, env, core_count=None):
        def begin():
            die_with_parent()
            if core_count:  # the last ones: the first have more of the system's work
                os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-core_count:])

        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
                                        preexec_fn=begin)
        self.has_ended, self.pending = False, b""
        RUNNING.add(self)
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def ask(self, line, limit=LIMIT_SECONDS):
        """Its answer; {"error": why} where it has none."""
        if self.has_ended:
            return {"error": "the process has ended"}
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self.read_line(limit))
        except (BrokenPipeError, EOFError):
            self.kill()
            return {"error": f"the process has ended, with status {self.process.returncode}"}
        except TimeoutError:
            self.kill()
            return {"error": f"no answer within {limit} s"}
        except ValueError:
            self.kill()
            return {"error": "its answer is no JSON"}
        finally:
            if not self.has_ended:
                self.signal(signal.SIGSTOP)

    def read_line(self, limit):
        output = self.process.stdout.fileno()
        while b"\n" not in self.pending:
            if not select.select([output], [], [], limit)[0]:
                raise TimeoutError
            read = os.read(output, 1 << 16)
            if not read:
                raise EOFError
            self.pending += read
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def end(self):
        """At the end of its input, or soon after."""
        if self.has_ended:
            return
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
            self.process.wait(10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        self.kill()

    def kill(self):
        self.has_ended = True
        RUNNING.discard(self)
        self.signal(signal.SIGKILL)  # what it started, too
        self.process.wait()


def kill_all():
    for process in list(RUNNING):
        process.kill()


atexit.register(kill_all)
# A stopped process does not see that its parent is gone.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
