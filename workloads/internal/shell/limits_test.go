package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// TestARunThatExceedsALimitEndsAsAWhole runs files that run themselves, and words, variables, pipes and files that grow. Nothing after the limit runs.
func TestARunThatExceedsALimitEndsAsAWhole(t *testing.T) {
	const end = ", which is a limit of the shell of fakecluster\nexit 2"
	deep := "stderr: sh: 100 programs run inside one another" + end
	for _, c := range []struct{ name, script, file, want string }{
		{"a script runs itself", "sh /rec; echo after", "sh /rec", deep},
		{"twice", "sh /rec; echo after", "sh /rec; sh /rec", deep},
		{"in a pipe", "sh /rec | cat; echo after", "sh /rec | cat", deep},
		{"with another program", "env sh /rec; echo after", "env bash /rec", deep},
		{"with a program of the container", "outer sh /rec; echo after", "outer sh /rec", deep},
		{"env runs itself", strings.Repeat("env ", 200), "", "stderr: env: 100 programs run inside one another" + end},
		{"a variable doubles itself", "export X=xxxxxxxx; sh /rec; echo after", "X=$X$X; sh /rec",
			"stderr: sh: an argument or a variable has 128 KiB" + end},
		{"a word is long", "X=" + strings.Repeat("x", 100<<10) + "; echo $X$X; echo after", "", "stderr: sh: an argument or a variable has 128 KiB" + end},
		{"there are many arguments", "X=" + strings.Repeat("x", 100<<10) + "; echo" + strings.Repeat(" $X", 30) + "; echo after", "",
			"stderr: sh: the arguments or the variables of a program have 2 MiB" + end},
		{"there are many variables", "X=" + strings.Repeat("x", 100<<10) + numbered("; A%d=$X", 30) + "; echo after", "",
			"stderr: sh: the arguments or the variables of a program have 2 MiB" + end},
		{"a file doubles itself", numbered("cat /rec /rec > /f; cat /f /f > /rec; ", 30) + "echo after", "a line of text",
			"stderr: sh: 64 MiB are in scripts, pipes and files that are being written" + end},
		{"an output gets long", "X=$(cat " + strings.Repeat("/rec ", 100) + "); echo after", strings.Repeat("x", 1<<20),
			"stderr: sh: 64 MiB are in scripts, pipes and files that are being written" + end},
		{"a script is long", "sh /rec; echo after", strings.Repeat("#", 2<<20),
			"stderr: sh: 64 MiB are in scripts, pipes and files that are being written" + end},
		{"many commands run", "sh /rec; echo after", strings.Repeat("sh /rec2;", 4), "stderr: sh: 100000 commands run without a pause" + end},
		{"commands run in the background", "while true; do sleep 60 & done", "", "stderr: sh: 1000 commands run at the same time" + end},
		{"a function runs itself", "f() { f | f & f; }; f; echo after", "", "stderr: sh: 100 commands run inside one another" + end},
		{"a shell runs itself inside", strings.Repeat("( ", 150) + "echo" + strings.Repeat(" )", 150), "", "stderr: sh: 100 commands run inside one another" + end},
		{"commands are inside one another", strings.Repeat("$(", 100_000), "", "stderr: sh: syntax error: too many commands are inside one another\nexit 2"},
		{"a trap runs itself", "trap 'eval \"$X\"' EXIT; X='eval \"$X\"'; exit 3", "", "stderr: sh: 100 commands run inside one another" + end},
		{"braces make many words", "bash -c 'echo {1..100000}'", "", "stderr: bash: brace expansion would exceed 16384 elements\nexit 2"},
		{"a pattern is long", "X=" + strings.Repeat("?", 40<<10) + "; echo ${X%%$X}; echo after", "", "stderr: sh: the arguments or the variables of a program have 2 MiB" + end},
		{"a text is replaced by long ones", "X=" + strings.Repeat("x", 40<<10) + "; X=${X//x/$X}", "", "stderr: sh: the arguments or the variables of a program have 2 MiB" + end},
		{"an input does not end", "cat /dev/zero > /f; echo after", "", "stderr: sh: 64 MiB are in scripts, pipes and files that are being written" + end},
		{"a long line is read", "head -c 10000000000 /dev/zero > /f; echo after", "", "stderr: sh: 64 MiB are in scripts, pipes and files that are being written" + end},
		{"a device is read for ever", "cat /dev/zero > /dev/null; echo after", "", "stderr: sh: 100000 commands run without a pause" + end},
		{"sleep 0", "while sleep 0; do :; done", "", "stderr: sh: 100000 commands run without a pause" + end},
		{"a condition has many parts", "test" + strings.Repeat(" a -o", 1000) + " b", "", "stderr: test: too many arguments\nexit 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShell(t)
			s.Program = func(name string) shell.Program {
				if name != "outer" {
					return nil
				}
				return func(ctx context.Context, c *shell.Command) int {
					code, _ := s.Run(ctx, shell.Command{Args: c.Args[1:], Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr})
					return code
				}
			}
			for name, text := range map[string]string{"/rec": c.file, "/rec2": strings.Repeat(":;", 30_000)} {
				if err := s.Files.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"sh", "-c", c.script}
			if strings.HasPrefix(c.script, "env env") {
				args = strings.Fields(c.script)
			}
			if got := run(t, s, "", args...); got != c.want {
				t.Errorf("got %.300q, want %q", got, c.want)
			}
		})
	}
}

// numbered repeats a text with the numbers from 0.
func numbered(text string, times int) string {
	var b strings.Builder
	for i := range times {
		if strings.Contains(text, "%") {
			fmt.Fprintf(&b, text, i)
		} else {
			b.WriteString(text)
		}
	}
	return b.String()
}

// TestWhatIsWithinTheLimitsRuns also counts commands anew after a pause, and lets go of what has been in pipes.
func TestWhatIsWithinTheLimitsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t)
		for name, text := range map[string]string{"/many": strings.Repeat(":;", 60_000), "/large": strings.Repeat("x", 1<<20)} {
			if err := s.Files.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		script := numbered("sh /many; sleep 1; ", 4) + numbered("cat /large | cat > /dev/null; ", 300) + "X=y;" + numbered("X=$X; ", 20_000) + "echo $X"
		if got := run(t, s, "", "sh", "-c", script); got != "y\n" {
			t.Errorf("got %.300q", got)
		}
	})
}

// TestALongLineOfInputIsLimited sends a script without an end to a shell that reads its input.
func TestALongLineOfInputIsLimited(t *testing.T) {
	s := newShell(t)
	var errs bytes.Buffer
	code, _ := s.Run(t.Context(), shell.Command{Args: []string{"sh"}, Stdin: endless{}, Stderr: &errs})
	const want = "sh: 64 MiB are in scripts, pipes and files that are being written, which is a limit of the shell of fakecluster\n"
	if errs.String() != want || code != 2 {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat("x", len(p))), nil }

// TestASleepMayBeLonger than what a time.Duration holds.
func TestASleepMayBeLonger(t *testing.T) {
	for _, a := range []string{"1e30", "1e400", "INFINITY", "9e9 9e9", "infinity", "1e18d"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*365*time.Hour)
			defer cancel()
			began := time.Now()
			code, _ := newShell(t).Run(ctx, shell.Command{Args: append([]string{"sleep"}, strings.Fields(a)...)})
			if code != 143 || time.Since(began) != 24*365*time.Hour {
				t.Errorf("sleep %s has ended with %d after %v", a, code, time.Since(began))
			}
		})
	}
	for _, a := range []string{"nan", "-1", "1x"} {
		if got, want := run(t, newShell(t), "", "sleep", a), "stderr: sleep: invalid time interval '"+a+"'\nexit 1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzShell runs scripts, which may also run a file that contains them. None panics, runs for ever, or uses more than its share of memory.
func FuzzShell(f *testing.F) {
	for _, script := range []string{
		"sh /script", "X=$X$X; sh /script", "cat /script /script > /f; cat /f /f >> /script; sh /script", "echo ${A:-b} \"$@\" $* $# $? '' \\", "ls -la /*/*; rm -r /",
		"tar cf - / | tar xf - -C /copy", "test ! a -o b -a c", "sleep 1e30", "cd /; cd etc && pwd || exit 3; ! false | cat 2>&1 >/dev/null <x", "env X=1 env sh -c 'exec \"$0\" $1' a b",
		"trap 'echo a' TERM EXIT ERR; sleep 5 & wait $!; kill $! %1; jobs", "f() { local a=$1; case $a in x*|[a-c]) return 3;; esac; f ${a#?}; }; f abcdx",
		"for ((i=0;i<3;i++)); do echo $((i*2)); done; [[ -f /script && a == a* ]] && . /script", "cat <<E | while read a b; do echo $b $a; done\n$X y\nE\n",
		"dd if=/dev/zero of=/f bs=1k count=3 conv=fsync; printf '%5s|%d\\n' a 3; tail -n1 -f /script & sleep 1; seq 1 3 | head -2 | grep -v 2",
		"mkdir -p a/b/c; touch a/b; rm -f a; printenv A B; hostname; [ 1 -lt 2 ]; export Y=1 Z",
	} {
		f.Add(script, "input\nof two lines")
	}
	f.Fuzz(runLimited)
}

// FuzzCommands runs scripts that a seed writes of the shell's commands with arguments that fit some of them.
func FuzzCommands(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		w := scriptWriter{rand.New(rand.NewPCG(seed, 0))}
		runLimited(t, w.commands(0), "input\nof two lines")
	})
}

// runLimited runs a script, which also stands in a file, for a client that leaves after some output.
func runLimited(t *testing.T, script, input string) {
	synctest.Test(t, func(t *testing.T) { // so that nothing sleeps
		root, err := files.NewRoot(files.NewTree(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile("/script", []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		out := &counted{cancel: cancel}
		s := &shell.Shell{Files: root, Hostname: "h", Environment: []string{"A=a  b", "X=x"}}
		s.Run(ctx, shell.Command{Args: []string{"sh", "-c", script, "zero", "one"}, Stdin: strings.NewReader(input), Stdout: out, Stderr: out})
	})
}

// scriptWriter writes random scripts.
type scriptWriter struct{ *rand.Rand }

var (
	randomCommands = strings.Fields(`[ [[ . /script alias ash basename break cat cd chgrp chmod chown command continue cp curl date dd declare dirname echo env eval exec exit export f false
		grep head hostname id jobs kill let ln local ls mkdir mv nc netstat nohup nslookup printenv printf pwd read readonly return rm seq set sh shift sleep stat sync tail tar tee test time
		timeout touch tr trap true type umask unset wait wc wget whoami X=1 Y=$X X+=a`)
	randomWords = strings.Fields(`0 1 -1 3 9223372036854775808 1e30 / /script /f /d /d/e .. . * ? a b X Y sh cat echo X=1 $X ${X#?} ${X:-a} ${X/a/b} $(cat) $(echo) $((1/0)) $((X)) $((X=3)) $1
		$@ $* $? $! $# "" '' '$X' '[' '' -- -c -C -d -e -eu -f -g -h -i -k -l -L -lt -m -n -N -o -O -p -q -r -R -s -t -T -u -v -w -x -z --help --printf = != -eq ] ]] [:upper:] a-z %*d %5$s %d %s

		+%s 0:0 1d 755 @0 KILL TERM EXIT bs=0 bs=1 count=2 if=/dev/zero if=/f of=/f skip=-1 cf xf - http://localhost/ localhost:80 root u=rw+x ~ ~root {a,b} @(a) !(a) [!a] /dev/null /dev/stdout
		/dev/zero <x <&- >&- <&1 2>&1 2>/dev/null </f >/f >/d >>/script <<<a`)
)

// commands writes a list of commands, depth lists deep.
func (w scriptWriter) commands(depth int) string {
	list := w.command(depth)
	for range w.IntN(4) {
		list += w.word([]string{"; ", "\n", " | ", " | ", " && ", " || "}) + w.command(depth)
	}
	if w.IntN(8) == 0 {
		list = "{ " + list + "; } & " + w.command(depth)
	}
	return list
}

// command writes one command.
func (w scriptWriter) command(depth int) string {
	if depth++; depth < 4 && w.IntN(7) == 0 {
		switch w.IntN(8) {
		case 0:
			return "(" + w.commands(depth) + ")"
		case 1:
			return "{ " + w.commands(depth) + "; }"
		case 2:
			return "if " + w.commands(depth) + "; then " + w.commands(depth) + "; fi"
		case 3:
			return "while " + w.commands(depth) + "; do " + w.commands(depth) + "; done"
		case 4:
			return "for i in " + w.word(randomWords) + " " + w.word(randomWords) + "; do " + w.commands(depth) + "; done"
		case 5:
			return "f() { " + w.commands(depth) + "; }"
		case 6:
			return "case " + w.word(randomWords) + " in " + w.word(randomWords) + ") " + w.commands(depth) + ";; esac"
		default:
			return "x=$(" + w.commands(depth) + ")"
		}
	}
	command := w.word(randomCommands)
	for range w.IntN(4) {
		command += " " + w.word(randomWords)
	}
	return command
}

func (w scriptWriter) word(words []string) string { return words[w.IntN(len(words))] }

// counted is a client that leaves after some output.
type counted struct {
	size   int
	cancel func()
}

func (c *counted) Write(p []byte) (int, error) {
	if c.size += len(p); c.size > 1<<20 {
		c.cancel()
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestWhatComesFromTheNetworkIsLimited asks a server whose answer does not end.
func TestWhatComesFromTheNetworkIsLimited(t *testing.T) {
	for _, command := range []string{"wget -q -O /f http://server/", "curl -o /f http://server/", "nc server 80"} {
		t.Run(command, func(t *testing.T) {
			s := newShell(t)
			s.Dial = func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				t.Cleanup(func() { _ = server.Close() })
				go func() {
					_, _ = server.Read(make([]byte, 4096))
					_, _ = io.WriteString(server, "HTTP/1.0 200 OK\r\n\r\n")
					block := make([]byte, 1<<20)
					for {
						if _, err := server.Write(block); err != nil {
							return
						}
					}
				}()
				return client, nil
			}
			const want = "stderr: sh: 64 MiB are in scripts, pipes and files that are being written, which is a limit of the shell of fakecluster\nexit 2"
			if got := run(t, s, "", "sh", "-c", "echo GET | "+command+" > /dev/null; echo after"); got != want {
				t.Errorf("got %.300q, want %q", got, want)
			}
		})
	}
}
