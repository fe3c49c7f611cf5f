package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

func newShell(t *testing.T) *shell.Shell {
	t.Helper()
	root, err := files.NewRoot(files.NewTree(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"/etc/a.conf": "a\n", "/etc/b.conf": "b\n", "/etc/.hidden": "", "/data/x/y": "deep\n"} {
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &shell.Shell{
		Files: root, Hostname: "web-0", Environment: []string{"COLOR=red", "TWO=a  b", "EMPTY="},
		Program: func(name string) shell.Program {
			if name != "upper" {
				return nil
			}
			return func(_ context.Context, c *shell.Command) int {
				data, _ := io.ReadAll(c.Stdin)
				fmt.Fprintf(c.Stdout, "%s%s", strings.ToUpper(string(data)), strings.Join(c.Args[1:], "|"))
				return 7
			}
		},
	}
}

// run runs a command, and returns its output, its errors and its exit code.
func run(t *testing.T, s *shell.Shell, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code, found := s.Run(t.Context(), shell.Command{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
	text := out.String()
	if errs.Len() > 0 {
		text += "stderr: " + errs.String()
	}
	if !found {
		text += "not found"
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d", code)
	}
	return text
}

// TestScripts runs scripts with sh -c. What sh does not have is an error before anything runs.
func TestScripts(t *testing.T) {
	for script, want := range map[string]string{
		``:                                    "",
		`# nothing`:                           "",
		`umask; umask 027`:                    "0022\n",
		`echo a   b`:                          "a b\n",
		`echo "a   b" 'c  $COLOR' \"d`:        "a   b c  $COLOR \"d\n",
		`echo $COLOR ${COLOR}s "<$TWO>" $TWO`: "red reds <a  b> a b\n",
		`echo ${NONE:-green} "${EMPTY:-x}" [$NONE]`:              "green x []\n",
		`upper $NONE "$NONE" ''`:                                 "|exit 7",
		`upper one; echo $?`:                                     "one7\n",
		"false\necho $?\n\n\ntrue; echo $?;":                     "1\n0\n",
		`true && echo yes || echo no`:                            "yes\n",
		`false && echo yes || echo no`:                           "no\n",
		`! true; echo $?`:                                        "1\n",
		`exit`:                                                   "",
		`exit 300`:                                               "exit 44",
		`echo a; exit 3; echo b`:                                 "a\nexit 3",
		`exec upper x; echo b`:                                   "xexit 7",
		`X=1 Y="2 3"; echo $X $Y`:                                "1 2 3\n",
		`X=1 env | upper; echo $X`:                               "COLOR=RED\nTWO=A  B\nEMPTY=\nX=1\n\n",
		`export X=5; printenv X`:                                 "5\n",
		`cat /etc/a.conf /etc/b.conf`:                            "a\nb\n",
		`cat /etc/*.conf | upper`:                                "A\nB\nexit 7",
		`cd /etc; ls; pwd; cat a.conf`:                           "a.conf\nb.conf\n/etc\na\n",
		`cd /none`:                                               "stderr: sh: cd: can't cd to /none\nexit 2",
		`ls -d /data /etc/*.conf`:                                "/data\n/etc/a.conf\n/etc/b.conf\n",
		`[ -f /etc/a.conf -a -d /data ] && echo yes`:             "yes\n",
		`[ -f /none -o ! -d /none ] && echo yes`:                 "yes\n",
		`[ a = a -o a = b -a a = c ] && echo yes`:                "yes\n",
		`[ a = b -a a = a -o a = c ] || echo no`:                 "no\n",
		`X=-o; [ -n $X ] && [ $X = -o ] && echo yes`:             "yes\n",
		`[ -L /etc/a.conf ]; echo $?`:                            "1\n",
		`[ a b c d ]; echo $?`:                                   "2\nstderr: [: b: unexpected operator\n",
		`ls /data/x /etc/a.conf`:                                 "/data/x:\ny\n/etc/a.conf\n",
		`echo a > /tmp/f; echo b >> /tmp/f; cat < /tmp/f`:        "a\nb\n",
		`cat /none 2>/dev/null || echo failed`:                   "failed\n",
		`cat /none > /tmp/f 2>&1; cat /tmp/f`:                    "cat: /none: No such file or directory\n",
		`echo oops >&2`:                                          "stderr: oops\n",
		`cat < /none`:                                            "stderr: sh: can't open /none: no such file\nexit 1",
		`[ -f /etc/a.conf ] && echo file`:                        "file\n",
		`test ! -d /etc || echo dir`:                             "dir\n",
		`[ "$COLOR" = red ] && [ 2 -gt 1 ]`:                      "",
		`[ 1`:                                                    "stderr: [: missing ]\nexit 2",
		`mkdir -p /a/b; touch /a/b/c; ls /a/b; rm -rf /a; ls /a`: "c\nstderr: ls: cannot access '/a': No such file or directory\nexit 2",
		`rm /none`:                            "stderr: rm: '/none': No such file or directory\nexit 1",
		`nothing`:                             "stderr: sh: nothing: not found\nexit 127",
		`sh -c 'echo $1 $0' zero one`:         "one zero\n",
		`hostname; echo -n x; echo -e 'a\tb'`: "web-0\nxa\tb\n",
		`echo "`:                              "stderr: sh: line 1: syntax error: unexpected end of file: reached EOF without closing quote `\"`\nexit 2",
		`echo a &&`:                           "stderr: sh: line 1: syntax error: unexpected end of file: `&&` must be followed by a statement\nexit 2",
		`| cat`:                               "stderr: sh: line 1: syntax error: `|` can only immediately follow a statement\nexit 2",
		`a=(1 2)`:                             "stderr: sh: syntax error: an array is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 2",
	} {
		if got := run(t, newShell(t), "", "sh", "-c", script); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
	}
}

// TestPrograms runs programs without a shell.
func TestPrograms(t *testing.T) {
	for _, c := range []struct{ stdin, command, want string }{
		{"in", "cat", "in"},
		{"", "cat /etc", "stderr: cat: /etc: Is a directory\nexit 1"},
		{"echo a\nexit 2\necho b\n", "sh", "a\nexit 2"},
		{"", "/bin/bash -lc pwd", "/\n"},
		{"", "env X=1 printenv X COLOR", "1\nred\n"},
		{"", "printenv NONE", "exit 1"},
		{"", "ls -idh /etc", "2375820365 /etc\n"},
		{"", "ls -z", "stderr: ls: invalid option -- 'z'\nexit 2"},
		{"", "sleep x", "stderr: sleep: invalid time interval 'x'\nexit 1"},
		{"", "exit 1", "not found"},
		{"", "nginx", "not found"},
	} {
		if got := run(t, newShell(t), c.stdin, strings.Fields(c.command)...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.command, got, c.want)
		}
	}
}

// TestSleepTakesVirtualTime also ends it with its context.
func TestSleepTakesVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got := run(t, newShell(t), "", "sh", "-c", "sleep 1.5 && sleep 2h"); got != "" || time.Since(began) != 2*time.Hour+1500*time.Millisecond {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if code, _ := newShell(t).Run(ctx, shell.Command{Args: []string{"sh", "-c", "sleep infinity; touch /after"}}); code != 143 {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestTarCopiesDirectories as kubectl cp does: out of a container, and into another one.
func TestTarCopiesDirectories(t *testing.T) {
	from, to := newShell(t), newShell(t)
	archive := run(t, from, "", "tar", "cf", "-", "/data", "/etc/a.conf")
	if got := run(t, to, archive, "tar", "-xmf", "-", "-C", "/copy"); got != "" {
		t.Error(got)
	}
	if got := run(t, to, archive, "sh", "-c", "cat /copy/data/x/y /copy/etc/a.conf"); got != "deep\na\n" {
		t.Errorf("%q", got)
	}
	if got := run(t, from, "", "tar", "cf", "-", "none"); !strings.HasSuffix(got, "stderr: tar: none: Cannot stat: No such file or directory\nexit 2") {
		t.Errorf("%q", got)
	}
	if got := run(t, to, "no archive", "tar", "xf", "-"); got != "stderr: tar: unexpected EOF\nexit 2" {
		t.Errorf("%q", got)
	}
	if got := run(t, to, "", "tar", "tf", "-"); got != "stderr: tar: invalid option -- 't'\nexit 64" {
		t.Errorf("%q", got)
	}
}

// TestPrintfOfSeveralShells runs printf in both commands of a pipe and in jobs at the same time; the race detector watches.
func TestPrintfOfSeveralShells(t *testing.T) {
	const loop = `for i in $(seq 100); do printf '%5s|%d\n' a 3; done`
	want := strings.Repeat("    a|3\n", 100)
	if got := run(t, newShell(t), "", "sh", "-c", loop+" > /job & "+loop+" | { "+loop+"; cat; }; wait; cat /job"); got != strings.Repeat(want, 3) {
		t.Errorf("got %q", got)
	}
}

// TestWhatIsMountedStays removes directories at which volumes are mounted, by which they become empty.
func TestWhatIsMountedStays(t *testing.T) {
	for script, want := range map[string]string{
		"rm -rf /data":           "stderr: rm: '/data': Device or resource busy\nexit 1",
		"find /data -delete":     "stderr: find: /data: Device or resource busy\nexit 1",
		"rm -rf /part /none; ls": "data\npart\nstderr: rm: '/part': Device or resource busy\n",
		"rm /data":               "stderr: rm: '/data': Is a directory\nexit 1",
		"cat /data; sed p /data": "stderr: cat: /data: Is a directory\nsed: /data: Is a directory\nexit 1",
		"find '' -delete":        "stderr: find: '': No such file or directory\nexit 1",
		"ln -s /part/f /data/l; sed -i s/a/b/ /data/l; cat /part/f /data/l": "a\nb\n",
	} {
		volume := files.NewTree()
		for _, name := range []string{"d/e/f", "part/f"} {
			if err := volume.Write(name, files.File{Data: []byte("a\n"), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
		}
		root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}, {Path: "/part", Tree: volume, SubPath: "part"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, &shell.Shell{Files: root}, "", "sh", "-c", script); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
		entries, err := fs.ReadDir(root, "data")
		if emptied := strings.Contains(want, "/data': Device") || strings.Contains(want, "/data: Device"); err != nil || emptied != (len(entries) == 0) {
			t.Errorf("%s: /data has %v; %v", script, entries, err)
		}
	}
}
