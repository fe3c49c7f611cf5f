import os
import unittest

import fakecluster

CRDS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "scenarios", "crontab"))
CRONTABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"


def crontab(name):
    return {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": name},
            "spec": {"cronSpec": "* * * * */5", "image": "app:1"}}


class CronTabs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = fakecluster.Host()
        cls.addClassCleanup(cls.host.close)

    def setUp(self):
        self.cluster = self.enterContext(self.host.start(crdPaths=[CRDS]))  # one for each test

    def test_a_definition_is_served(self):
        code, made = self.cluster.request("POST", CRONTABS, crontab("a"))
        self.assertEqual((code, made["metadata"]["generation"]), (201, 1))
        wrong = crontab("b")
        wrong["spec"]["cronSpec"] = 5
        code, status = self.cluster.request("POST", CRONTABS, wrong)
        self.assertEqual((code, status["reason"]), (422, "Invalid"))

    def test_a_fork_is_independent(self):
        self.cluster.request("POST", CRONTABS, crontab("a"))
        with self.cluster.fork() as fork:
            self.assertEqual(fork.request("DELETE", CRONTABS + "/a")[0], 200)
        self.assertEqual(self.cluster.request("GET", CRONTABS + "/a")[0], 200)

    def test_a_fault_strikes_once(self):
        fault = self.cluster.inject(verb="create", resource="crontabs.stable.example.com", times=1, effect={"type": "Unavailable"})
        self.assertEqual(self.cluster.request("POST", CRONTABS, crontab("a"))[0], 503)
        self.assertEqual(self.cluster.request("POST", CRONTABS, crontab("a"))[0], 201)
        self.assertEqual(self.cluster.call("GET", f"faults/{fault}")["fired"], 1)

    def test_a_fault_that_never_fires_is_an_error(self):
        fork = self.cluster.fork()
        fork.inject(verb="delete", effect={"type": "Conflict"})
        with self.assertRaisesRegex(fakecluster.Error, "^the fault never fired: delete any resource: Conflict"):
            with fork:
                pass


if __name__ == "__main__":
    unittest.main()
