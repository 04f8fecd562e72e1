"""The flow of the bench for Locust (https://locust.io), with its user class for Socket.IO. Uses the protocol of load-program.ts."""

import json
import os
import sys

import gevent
from locust import events, task
from locust.contrib.socketio import SocketIOUser

connections = json.loads(os.environ["LOAD"])["connections"]
counts = {"joined": 0, "received": 0}


def print_line(line):
    print(line, flush=True)


def end_with_input():
    gevent.get_hub().threadpool.apply(sys.stdin.read)
    print_line(json.dumps(counts, separators=(",", ":")))
    os._exit(0)


@events.test_start.add_listener
def wait_for_go(**_):
    print_line("ready")
    sys.stdin.readline()
    gevent.spawn(end_with_input)


class Member(SocketIOUser):
    @task
    def stay(self):
        self.sio.on("broadcast", self.count)
        self.sio.connect(self.host, transports=["websocket"], wait_timeout=60)
        self.sio.call("join_room", {"clientKey": "capacity"})
        counts["joined"] += 1
        if counts["joined"] == connections:
            print_line("joined")
        self.sio.wait()

    def count(self, message):
        if message["seq"] > 0:
            counts["received"] += 1
