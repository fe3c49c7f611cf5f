package shell_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// TestLanguage has scripts with what busybox writes for them.
func TestLanguage(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"for i in a b cd 1; do case $i in a|b) echo ab ;; c*) echo c ;; *) echo other ;; esac; done", "ab\nab\nc\nother\n"},
		{"case x in 'x') echo quoted;; esac; case '*' in \\*) echo star;; esac; case y in x) :;; esac; echo $?", "quoted\nstar\n0\n"},
		{"i=3; echo $((i * 2 + 1)) $((i > 2)) $((i++)) $i $((16#ff))", "7 1 3 4 255\n"},
		{"echo $((1 / 0)); echo after", "stderr: sh: division by zero\nexit 2"},
		{"while [ ${i:=0} -lt 3 ]; do i=$((i + 1)); done; echo $i", "3\n"},
		{"f() { echo $# $1; local x=2; y=$x; return 4; }; x=1; f a b; echo $? $x $y", "2 a\n4 1 2\n"},
		{"f() { false; echo after; }; set -e; f || echo failed; f", "after\nexit 1"},
		{"cat <<E\na $((1+1))\n\t$COLOR\nE\ncat <<'E'\n$COLOR\nE\ncat <<-E\n\tx\n\tE\n", "a 2\n\tred\n$COLOR\nx\n"},
		{"bash -c 'cat <<<\"$0 $1\"' a b", "a b\n"},
		{"printf 'a b\\nc d e\\n' | while read -r x y; do echo \"$y,$x\"; done", "b,a\nd e,c\n"},
		{"printf 'a\\nb' > /f; while read l || [ -n \"$l\" ]; do echo \"<$l>\"; done < /f", "<a>\n<b>\n"},
		{"x=1; echo a | x=2; (x=3; exit 5); echo $? $x", "5 1\n"},
		{"X=1; sh -c 'echo [$X]'; export X; sh -c 'echo [$X]'; Y=2 sh -c 'echo [$Y]'; echo [$Y]", "[]\n[1]\n[2]\n[]\n"},
		{"set -- a 'b c' d; shift; echo $# \"$1\"; for i; do echo \"$i\"; done; echo \"$*\"", "2 b c\nb c\nd\nb c d\n"},
		{"set -u; echo ${A-none} ${A+x}; echo $A; echo after", "none\nstderr: sh: A: parameter not set\nexit 2"},
		{"x=a.b.c; echo ${x%.*} ${x##*.} ${#x} ${x%%.*} ${x:+y}", "a.b c 5 a y\n"},
		{"bash -c 'x=aXbX; echo ${x//X/-} ${x:1:2} ${x^^}; [[ $x == a* && $x =~ ^a.b && ! -e /none ]] && echo yes'", "a-b- Xb AXBX\nyes\n"},
		{"echo {a,b} {\"x\":1}; bash -c 'echo {a,b} {1..3}'", "{a,b} {x:1}\na b 1 2 3\n"},
		{"for ((i = 0; i < 3; i++)); do echo $i; done; (( i == 3 )) && echo yes", "0\n1\n2\nyes\n"},
		{"for i in 1 2; do for j in 1 2; do [ $j = 2 ] && continue 2; echo $i$j; done; done", "11\n21\n"},
		{"for i in 1 2; do for j in 1 2; do break 2; done; done; echo $i$j", "11\n"},
		{"trap 'echo bye $?' EXIT; trap; exit 3", "trap -- 'echo bye $?' EXIT\nbye 3\nexit 3"},
		{"trap 'echo bye' 0; (echo a); echo b", "a\nb\nbye\n"},
		{"sleep 2 & p=$!; echo $p; wait $p; echo $?", "7\n0\n"},
		{"(sleep 1; echo one) & (sleep 2; exit 5) & wait %2; echo $?; jobs", "one\n5\n"},
		{"sleep 1h & kill -0 $! && echo runs; kill $!; wait $!; echo $?; kill $!", "runs\n143\nstderr: kill: can't kill pid 7: No such process\nexit 1"},
		{"while :; do echo y; sleep 1; done | head -n 2", "y\ny\n"},
		{"exec 2>&1 >/f; cat /none; echo a; cat /f >&2", "cat: /none: No such file or directory\na\n"},
		{"if false; then :; else echo $?; fi; false; { echo $?; }; false; (echo $?); false; case x in x) echo $?;; esac", "1\n1\n1\n1\n"},
		{"f() { echo $?; }; false; f; false; for i in 1 2; do f; done; until sh -c 'exit 3'; do f; break; done; false; eval 'echo $?'", "1\n1\n0\n3\n1\n"},
		{"false; eval ''; echo $?; false; case x in x) ;; esac; echo $?; false; for i in; do :; done; echo $?; f() { return; }; false; f; echo $?", "0\n0\n0\n1\n"},
		{"echo 'echo $?' > /s; false; . /s; echo > /s; false; . /s; echo $?", "1\n0\n"},
		{"false | true; echo $?; set -o pipefail; false | true; echo $?", "0\n1\n"},
		{"command -v cat cd none; command -v sh >/dev/null && type sh f; f() { :; }; type f", "/bin/cat\ncd\nsh is /bin/sh\nf: not found\nf is a function\n"},
		{"echo 'x=5; return 3; x=6' > /lib.sh; . /lib.sh; echo $? $x; eval 'echo $x'; . /none; echo after", "3 5\n5\nstderr: sh: .: can't open '/none': No such file or directory\nexit 2"},
		{"readonly A=1; A=2; echo after", "stderr: sh: A: is read only\nexit 2"},
		{"unset COLOR; echo [$COLOR]; cd /etc; cd -; echo $OLDPWD $PWD ~", "[]\n/\n/etc / ~\n"},
		{"printf '#!/bin/sh -e\\necho \"$0 $1\"; false; echo never' > /run.sh; /run.sh a; echo $?; sh /run.sh b", "/run.sh a\n1\n/run.sh b\nnever\n"},
		{"printf '#!/usr/bin/python\\n' > /run.py; /run.py", "stderr: sh: /run.py: not found\nexit 127"},
		{"cat ~nobody/x", "stderr: cat: ~nobody/x: No such file or directory\nexit 1"},
		{"echo a > /etc; echo $?", "1\nstderr: sh: can't create /etc: Is a directory\n"},
		{"echo a >&7", "stderr: sh: 7: bad file descriptor\nexit 1"},
		{"echo `echo a \\`echo b\\`` \"`echo c`\"; echo $(</etc/a.conf)", "a b c\na\n"},
		{"X=$RANDOM; [ $X -ge 0 ] && [ $X -lt 32768 ] && echo yes", "yes\n"},
		{"time sleep 1", "stderr: sh: syntax error: time is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 2"},
		{"getopts a b", "stderr: sh: syntax error: getopts is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := run(t, newShell(t), "", "sh", "-c", test.script); got != test.want {
				t.Errorf("%s\ngot  %q\nwant %q", test.script, got, test.want)
			}
		})
	}
}

// TestTextPrograms also has the devices.
func TestTextPrograms(t *testing.T) {
	for _, test := range []struct{ stdin, script, want string }{
		{"x\n", "dd of=/f conv=fsync status=none; cat /f", "x\n"},
		{"", "dd if=/dev/zero of=/f bs=1k count=3 2>/dev/null; wc -c < /f; ls -l /f | head -c 10", "3072\n-rw-r--r--"},
		{"", "dd of=/f conv=sync", "stderr: dd: syntax error: conv=sync is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1"},
		{"a\nb\nc\n", "head -2; echo -", "a\nb\n-\n"},
		{"a\nb\nc\n", "tail -n 1; seq 2 2 6; seq 3 | wc -l", "c\n2\n4\n6\n3\n"},
		{"abc\nxyz\n", "tee /f | grep -c b; grep -v b /f; grep -q none /f; echo $?; grep -E 'a|z' -o /f", "1\nxyz\n1\na\nz\n"},
		{"", "printf '%s=%03d %x\\n' a 7 255 b 8 0; printf %9999d 1", "a=007 ff\nb=008 0\nstderr: printf: syntax error: a width of 1000 or more is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 2"},
		{"", "mkdir /a; echo x > /a/f; cp -r /a /b; mv /b/f /b/g; ls /a /b; cp /a /c", "/a:\nf\n\n/b:\ng\nstderr: cp: omitting directory '/a'\nexit 1"},
		{"a  b\r\nc\n", "tr -d '\\r\\n' | tr -s ' ' | tr a-c A-C", "A BC"},
		{"x1-y2\n", "tr -cd '[:alnum:]' | tr '[:lower:]' '[:upper:]' | tr XY ab", "a1b2"},
		{"a:b\n", "tr : '\\n'; tr a", "a\nb\nstderr: tr: missing operand\nexit 1"},
		{"", "basename /a/b.sh .sh; dirname /a/b; timeout 1 sleep 5; echo $?; timeout 9 sh -c 'exit 4'", "b\n/a\n143\nexit 4"},
		{"", "echo 'echo ran' > /x; chmod +x /x; [ -f /x ] && /x; ls -l /x | head -c 10; chmod 600 /x; ls -l /x | head -c 10; chmod g^w /x", "ran\n-rwxr-xr-x-rw-------stderr: chmod: invalid mode: 'g^w'\nexit 1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := run(t, newShell(t), test.stdin, "sh", "-c", test.script); got != test.want {
				t.Errorf("%s\ngot  %q\nwant %q", test.script, got, test.want)
			}
		})
	}
}

// TestTailFollows writes what another command appends, when it does.
func TestTailFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got := run(t, newShell(t), "", "sh", "-c", "echo a > /log; (sleep 60; echo b >> /log; sleep 60; echo c >> /log; sleep 60; echo d >> /log) & tail -f /log | head -3")
		if want := "a\nb\nc\n"; got != want || time.Since(began) != 3*time.Minute {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

// TestTrapOfSIGTERM proves when the trap of a script that is the first process of its container runs: after the command of the moment, and at once
// during wait.
func TestTrapOfSIGTERM(t *testing.T) {
	for _, test := range []struct {
		script string
		want   string
		code   int
		after  time.Duration
		traps  bool
	}{
		{"trap 'echo bye; exit 5' TERM; sleep 1h & wait", "bye\n", 5, 90 * time.Second, true},
		{"trap 'echo bye; exit 5' TERM; while true; do sleep 60; done", "bye\n", 5, 2 * time.Minute, true},
		{"trap 'echo bye' TERM INT; sleep 2m; echo on", "bye\non\n", 0, 2 * time.Minute, true},
		{"trap '' TERM; sleep 2m; echo on", "on\n", 0, 2 * time.Minute, true},
		{"trap 'exit 5' TERM; trap - TERM; sleep 2m; echo on", "on\n", 0, 2 * time.Minute, false},
		{"sh -c 'trap \"exit 5\" TERM; sleep 1h & wait' & sleep 2m; echo on", "on\n", 0, 2 * time.Minute, false},
		{"exec sh -c 'trap \"exit 5\" TERM; sleep 1h & wait'", "", 5, 90 * time.Second, true},
		{"trap 'exit 5' TERM; exec sleep 2m", "", 0, 2 * time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newShell(t)
			terminated := make(chan struct{})
			s.Terminated = terminated
			time.AfterFunc(90*time.Second, func() { close(terminated) })
			began := time.Now()
			var out bytes.Buffer
			code, _ := s.Run(t.Context(), shell.Command{Args: []string{"sh", "-c", test.script}, Stdout: &out})
			if out.String() != test.want || code != test.code || time.Since(began) != test.after || s.Trapped() != test.traps {
				t.Errorf("%s: %q, exit code %d after %v, trapped: %t", test.script, out.String(), code, time.Since(began), s.Trapped())
			}
		})
	}
}

// TestJobsEndWithTheCommand that has begun them, and leave nothing behind.
func TestJobsEndWithTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := run(t, newShell(t), "", "sh", "-c", "sleep 1h & (while true; do sleep 1; done) & tail -f /etc/a.conf & cat /dev/zero | sleep 3"); got != "a\n" {
			t.Errorf("%q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		code, _ := newShell(t).Run(ctx, shell.Command{Args: []string{"sh", "-c", "sleep 1h & sleep 1h | wait; wait"}})
		if code != 143 {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestAnInteractiveShell reads commands of several lines, and leaves its input to what it runs.
func TestAnInteractiveShell(t *testing.T) {
	for _, test := range []struct {
		tty         bool
		stdin, want string
	}{
		{false, "for i in a b\ndo\n  echo $i\ndone\nread x\nline\necho $x\ncat <<E\n$x\nE\ncat\nrest\n", "a\nb\nline\nline\nrest\n"},
		{true, "echo a\nif true\nthen echo b; fi\n)\necho c\nexit 3\n", "/ # a\n/ # > b\n/ # sh: line 1: syntax error: `)` can only be used to close a subshell\n/ # c\n/ # exit 3"},
		{false, "echo a\n)\necho b\n", "a\nsh: line 1: syntax error: `)` can only be used to close a subshell\nexit 2"},
	} {
		s := newShell(t)
		var out bytes.Buffer
		code, _ := s.Run(t.Context(), shell.Command{Args: []string{"sh"}, Stdin: bytes.NewBufferString(test.stdin), Stdout: &out, Stderr: &out, TTY: test.tty})
		if code != 0 {
			out.WriteString(map[int]string{2: "exit 2", 3: "exit 3"}[code])
		}
		if out.String() != test.want {
			t.Errorf("%q\ngot  %q\nwant %q", test.stdin, out.String(), test.want)
		}
	}
}
