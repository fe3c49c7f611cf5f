"""Clusters for tests in Python, by the control API of "fakecluster host". It needs the standard library only."""

import http.client
import json
import os
import socket
import subprocess


class Error(Exception):
    """What the host refuses, in its words."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("fakecluster")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Host:
    """The user's host, which is started if it does not run, with a session: its clusters end with this process."""

    def __init__(self):
        program = os.environ.get("FAKECLUSTER", "fakecluster")
        done = subprocess.run([program, "host", "--background"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(done.stderr.strip())
        self.socket = done.stdout.split()[1].removeprefix("unix:")
        self.open = _UnixConnection(self.socket)
        self.open.request("POST", "/v1/sessions")
        self.answer = self.open.getresponse()  # stays open
        self.session = json.loads(self.answer.readline())["session"]

    def close(self):
        """Ends the session, and with it all of its clusters."""
        self.answer.close()
        self.open.close()

    def call(self, method, path, body=None):
        connection = _UnixConnection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        content = json.loads(text) if text else None
        if answer.status >= 300:
            raise Error(content["error"])
        return content

    def start(self, **options):
        """Starts a cluster. The options are the fields of POST /v1/clusters in docs/remote.md, such as crdPaths."""
        return Cluster(self, self.call("POST", "/v1/clusters", {"session": self.session, **options}))


class Cluster:
    """A cluster. In a with statement it ends with the block."""

    def __init__(self, host, described):
        self.host = host
        self.name, self.url, self.token, self.kubeconfig = (described[f] for f in ("cluster", "url", "token", "kubeconfig"))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.call("GET", "findings").get("text", ""))  # why the test may have failed
        errors = self.host.call("DELETE", "/v1/clusters/" + self.name)["errors"]
        if errors and kind is None:
            raise Error("\n".join(errors))

    def call(self, method, operation, body=None):
        """Calls an operation of the cluster, such as POST settle."""
        return self.host.call(method, f"/v1/clusters/{self.name}/{operation}", body)

    def fork(self):
        return Cluster(self.host, self.call("POST", "fork", {"session": self.host.session}))

    def inject(self, **fault):
        """Puts a fault in force, and returns its number."""
        return self.call("POST", "faults", fault)["fault"]

    def request(self, method, path, body=None):
        """Sends a request to the API server as its administrator, and returns the code and the content of the answer."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"))
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json", "User-Agent": "python"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()
