"""A process that speaks the protocol of GradBench, and what is sent to it."""

import json
import os
import subprocess


def no_number(name):
    raise ValueError(f"{name} is no JSON")


class Tool:
    def __init__(self, command, processors=None):
        """On these processors; on all, when none are given."""

        def bound():
            # Before the process makes threads: they have what it has.
            os.sched_setaffinity(0, processors or os.sched_getaffinity(0))

        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=bound)
        self.next_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def send(self, line):
        """One line there, one line back."""
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise RuntimeError(f"no answer to {line[:100]!r}, status {self.process.wait()}")
        return answer

    def ask(self, kind, **fields):
        """A message with the next id; its answer, which must have that id and no NaN."""
        message = {"id": self.next_id, "kind": kind, **fields}
        self.next_id += 1
        answer = json.loads(self.send(json.dumps(message).encode()), parse_constant=no_number)
        if answer["id"] != message["id"]:
            raise RuntimeError(f"the answer to {message['id']} has the id {answer['id']}")
        return answer

    def close(self):
        """Ends the input; the exit status."""
        self.process.stdin.close()
        left = self.process.stdout.read()
        if left:
            raise RuntimeError(f"more than one answer: {left[:100]!r}")
        return self.process.wait()
