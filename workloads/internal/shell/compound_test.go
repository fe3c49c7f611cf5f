package shell_test

import (
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// TestCompoundCommands has scripts as they are in Pods, with what busybox writes for them.
func TestCompoundCommands(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"if true; then echo a; else echo b; fi", "a\n"},
		{"if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"},
		{"if false; then echo a; fi; echo $?", "0\n"},
		{"if [ -f /none ]\nthen\n  echo a\nelse\n  echo b\nfi", "b\n"},
		{"for i in 1 2 3; do echo $i; done", "1\n2\n3\n"},
		{"for f in a b\ndo\n  for g in c d; do echo $f$g; done\ndone", "ac\nad\nbc\nbd\n"},
		{"for i in 1 2 3; do if [ $i = 2 ]; then continue; fi; echo $i; done", "1\n3\n"},
		{"for i in 1 2 3; do [ $i = 2 ] && break; echo $i; done; echo $i", "1\n2\n"},
		{"while true; do echo a; break; done", "a\n"},
		{"until test -f /ready; do echo waiting; sleep 2; touch /ready; done; echo ready", "waiting\nready\n"},
		{"i=0; while [ $i != 00000 ]; do i=0$i; done; echo $i", "00000\n"},
		{"{ echo a; echo b; } > /f; cat /f", "a\nb\n"},
		{"echo one $(echo two; echo three) \"$(echo 'four  five')\"", "one two three four  five\n"},
		{"a=$(false) || echo failed", "failed\n"},
		{"x=1; y=$(x=2; echo $x); echo $x$y", "12\n"},
		{"set -e; false; echo never", "exit 1"},
		{"set -e; if false; then echo a; fi; false || echo b; ! true; echo c", "b\nc\n"},
		{"set -ex\necho 'a b'\nX=1\nexit 3", "a b\nstderr: + echo 'a b'\n+ X=1\n+ exit 3\nexit 3"},
		{"echo a | while true; do cat; break; done", "a\n"},
		{"echo done; echo fi then", "done\nfi then\n"},
		{"while true; do echo a", "stderr: sh: line 1: syntax error: unexpected end of file: `while` statement must end with `done`\nexit 2"},
		{"if true; echo a; fi", "stderr: sh: line 1: syntax error: `fi` can only be used to end an `if`\nexit 2"},
		{"while :; do :; done", "stderr: sh: 100000 commands run without a pause, which is a limit of the shell of fakecluster\nexit 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := run(t, newShell(t), "", "sh", "-c", test.script); got != test.want {
				t.Errorf("%s\ngot  %q\nwant %q", test.script, got, test.want)
			}
		})
	}
}

// TestKnownCommands proves which commands of containers are run, because everything in them is known.
func TestKnownCommands(t *testing.T) {
	for _, test := range []struct {
		words []string
		known bool
	}{
		{nil, false},
		{[]string{"nginx"}, false},
		{[]string{"/bin/sleep", "600"}, true},
		{[]string{"sh", "-c", "echo hello; exit 3"}, true},
		{[]string{"/bin/sh", "-ec", "until nslookup mydb; do echo waiting; sleep 2; done"}, true},
		{[]string{"sh", "-c", "apk add curl && curl -f http://nope"}, false},
		{[]string{"sh", "-c", "if true; then exec /server --port 80; fi"}, false},
		{[]string{"sh", "-c", "exec sleep 5"}, true},
		{[]string{"sh", "-c", "echo $(date)"}, true},
		{[]string{"sh", "-c", "echo $(lscpu)"}, false},
		{[]string{"sh", "-c", "$COMMAND"}, false},
		{[]string{"sh", "-c", "A=b env"}, true},
		{[]string{"sh", "-c", "trap 'exit 0' TERM; sleep 5"}, true},
		{[]string{"sh", "-c", "serve() { sleep 5; }; serve & wait"}, true},
		{[]string{"sh", "-c", "case $1 in a) date ;; *) /server ;; esac"}, false},
		{[]string{"sh", "-c", "eval $COMMAND"}, false},
		{[]string{"sh", "-c", "a=(1 2); echo ${a[1]}"}, false},
		{[]string{"sh", "/scripts/run.sh"}, true},
		{[]string{"/scripts/run.sh", "x"}, true},
		{[]string{"sh", "/scripts/server.sh"}, false},
		{[]string{"/scripts/script.py"}, false},
		{[]string{"sh", "/scripts/none.sh"}, false},
		{[]string{"cp", "-f", "/flannel", "/opt/cni/bin/flannel"}, false},
		{[]string{"cp", "/scripts/run.sh", "/data"}, true},
		{[]string{"sh", "-c", "cp -r /plugins/* /shared"}, false},
		{[]string{"sh", "-c", "mkdir /data/a; cp -r /data/a /data/b"}, true},
		{[]string{"sh", "-c", "cd /tmp; echo a >b; cp /tmp/b /data"}, true},
		{[]string{"env", "A=b", "server"}, false},
		{[]string{"env", "A=b", "sh", "-c", "echo $A"}, true},
	} {
		read := func(name string) ([]byte, error) {
			text, ok := map[string]string{
				"/scripts/run.sh": "#!/bin/sh -e\n. /scripts/library.sh\nwork $1", "/scripts/library.sh": "work() { echo $1; }",
				"/scripts/server.sh": "exec /server", "/scripts/script.py": "#!/usr/bin/env python3\nprint()",
			}[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
		if known := shell.Knows(test.words, read); known != test.known {
			t.Errorf("%q is known: %t", test.words, known)
		}
	}
}

// TestSleepSkipsWhatHasPassed proves that a script which runs again, because its container goes on, does not sleep as long as it has before.
func TestSleepSkipsWhatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newShell(t)
		s.Passed = 90 * time.Second
		s.Run(t.Context(), shell.Command{Args: []string{"sh", "-c", "sleep 60; sleep 60"}})
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it takes %v", took)
		}
	})
}
