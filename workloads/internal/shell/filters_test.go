package shell_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// TestFilters compares with what the programs of GNU print.
func TestFilters(t *testing.T) {
	const people = "ann:30:red\nbob:4:blue\n\ncid\n"
	for _, test := range []struct{ script, input, want string }{
		{"cut -d: -f1,3", people, "ann:red\nbob:blue\n\ncid\n"},
		{"cut -s -d : -f 2-", people, "30:red\n4:blue\n"},
		{"cut -c2-3,1", people, "ann\nbob\n\ncid\n"},
		{"cut -c -1 | head -n 2", people, "a\nb\n"},
		{"cut -f 0", "", "stderr: cut: invalid range '0'\nexit 1"},
		{"cut -d: a", "", "stderr: cut: you must specify a list of bytes, characters, or fields\nexit 1"},

		{"sort", "b\na\nB\na\n", "B\na\na\nb\n"},
		{"sort -u -r", "b\na\nB\na\n", "b\na\nB\n"},
		{"sort -n", "10 x\n9\n-1\nz\n", "-1\nz\n9\n10 x\n"},
		{"sort -t : -k 2,2n", "a:10\nb:9\nc:1\n", "c:1\nb:9\na:10\n"},
		{"sort -k2 -r", "a 1\nb 2\n", "b 2\na 1\n"},
		{"sort -f -o /out; cat /out", "b\nA\n", "A\nb\n"},
		{"sort -n", "10.0.0.2\n9.1.1.1\n10.0.0.1\n", "9.1.1.1\n10.0.0.1\n10.0.0.2\n"},
		{"sort -k2; echo", "x   b\nx a\nx  c\n", "x   b\nx  c\nx a\n\n"},
		{"sort -k2b,2 -k1,1r", "x  b\na a\nc a\n", "c a\na a\nx  b\n"},
		{"sort -s -k1,1", "b 2\nb 1\na 3\n", "a 3\nb 2\nb 1\n"},
		{"sort -t '\\t'", "", "stderr: sort: multi-character tab '\\t'\nexit 2"},
		{"sort /none", "", "stderr: sort: /none: No such file or directory\nexit 2"},
		{"sort | uniq -c | sort -rn", "x\ny\nx\n", "      2 x\n      1 y\n"},
		{"uniq -d; uniq -u", "x\nx\ny\n", "x\n"},
		{"uniq -i", "x\nX\ny\n", "x\ny\n"},

		{"sed 's/a/b/'", "aa\nca", "ba\ncb"},
		{"sed -e 's/a/b/g' -e s,b,c,2", "aa\n", "bc\n"},
		{`sed 's/\([a-z]*\)=\(.*\)/\2 is \1 \& &/'`, "k=v\n", "v is k & k=v\n"},
		{`sed -E 's/([0-9]+)(x?)/<\1>/g'`, "1x22\n", "<1><22>\n"},
		{"sed -n '/b/p'", "a\nb\n", "b\n"},
		{"sed -n '$p;2,3p'", "1\n2\n3\n4\n", "2\n3\n4\n"},
		{"sed '1d;/x/,/y/d'", "1\n2\nx\n3\ny\n4\n", "2\n4\n"},
		{"sed '/a/!d'", "a\nb\n", "a\n"},
		{"sed 2q", "1\n2\n3\n", "1\n2\n"},
		{"sed -n '$='", "1\n2\n", "2\n"},
		{"sed '1i\\\nfirst\n$a last'", "x\n", "first\nx\nlast\n"},
		{"sed '2c\\\nnew'", "1\n2\n", "1\nnew\n"},
		{"sed 'y/ab/AB/;s/B/-/I'", "abc\n", "A-c\n"},
		{"sed 's/[/]/:/g; s|/|x|'", "a/b\n", "a:b\n"},
		{`sed 's/a\|b/\n/'`, "b\n", "\n\n"},
		{"sed n;d", "1\n2\n3\n", "1\n2\n3\nstderr: sh: d: not found\nexit 127"},
		{"sed 'n;d'", "1\n2\n3\n", "1\n3\n"},
		{"echo 'a=1' > /f; sed -i 's/1/2/' /f; cat /f; sed -i s/a/b/ /none", "", "a=2\nstderr: sed: can't read /none: No such file or directory\nexit 1"},
		{"sed '" + strings.Repeat("s/a{999}/x/;", 300) + "' -E", "", "stderr: sed: the script is too large\nexit 1"},
		{"sed s/a/", "", "stderr: sed: unterminated 's' command\nexit 1"},
		{`sed 's/a/\1/'`, "", "stderr: sed: invalid reference \\1 on 's' command's RHS\nexit 1"},
		{"sed ':a;ba'", "", "stderr: sed: syntax error: the command : of sed is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1"},

		{`sed 's/${VAR}/é/;s/$(B)/y/;s/$C/z/'`, "a ${VAR} $(B) $C $C\n", "a é y z $C\n"},
		{`sed 's/a^b/x/;s/*/y/;s/^*c/z/;s/\(^\|x\)d/q/'`, "a^b *\n*c\ndx\n", "x y\nyc\nqx\n"},
		{"sed -E 's/a|ab/x/'", "abc\n", "xc\n"},
		{"grep -oE 'a|ab'", "abc\n", "ab\n"},
		{"grep -c '$HOME'", "$HOME\n", "1\n"},
		{"grep -- -a", "-a\nb\n", "-a\n"},
		{"sed s/a/b/12", "aaaaaaaaaaaaaa\n", "aaaaaaaaaaabaa\n"},
		{`sed 's/[[:alpha:]/]/_/g;s/[\n]/,/;s/[\.]/x/'`, "a/b.\n", "___x\n"},
		{`sed -E 's/a{,2}/x/;s/[^\/]$//'`, "aaab\n", "xa\n"},
		{"sed p", "a", "a\na"},
		{"printf a > /f; printf b > /g; sed -n 'p;$p' /f /g", "", "a\nb\nb"},
		{"sed '2,9c new'", "1\n2\n3\n", "1\n"},
		{`sed 'a\  x\ny'`, "1\n", "1\n  x\ny\n"},
		{"sed s//x/", "", "stderr: sed: syntax error: the empty regular expression of sed is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1"},

		{"base64", "hello", "aGVsbG8=\n"},
		{"base64 -w 4; echo", "hello", "aGVs\nbG8=\n\n"},
		{"base64 -d", "aGVs\nbG8=\n", "hello"},
		{"base64 -d", "!", "stderr: base64: invalid input\nexit 1"},
		{"md5sum", "a", "0cc175b9c0f1b6a831c399e269772661  -\n"},
		{"echo abc /f | md5sum -c", "", "stderr: md5sum: -: no checksum lines found\nexit 1"},
		{"echo x > /f; sha256sum /f > /sums; sha256sum -c /sums; echo y > /f; sha256sum -c /sums", "",
			"/f: OK\n/f: FAILED\nstderr: sha256sum: WARNING: 1 computed checksums did NOT match\nexit 1"},

		{"xargs", "a b\n 'c d' e\\ f\n", "a b c d e f\n"},
		{"xargs -n 2 echo -", "1 2 3", "- 1 2\n- 3\n"},
		{"xargs -I {} echo '<{}>'", "a b\nc\n", "<a b>\n<c>\n"},
		{"xargs -r echo", "", ""},
		{"xargs sh -c 'exit 3' -", "a", "exit 123"},
		{"xargs -n 1 sh -c 'echo $0; exit 255'", "a b", "a\nexit 124"},
		{"xargs -n 1", "à b\n", "à\nb\n"},
		{"xargs none", "a", "stderr: xargs: none: No such file or directory\nexit 127"},
		{`printf 'a b\0c' | xargs -0 -n1 echo`, "", "a b\nc\n"},

		{"mkdir -p /d/e; echo > /d/e/f.txt; echo > /d/g; find /d", "", "/d\n/d/e\n/d/e/f.txt\n/d/g\n"},
		{"mkdir -p /d/e; echo > /d/e/f.txt; cd /d; find . -type f; find -maxdepth 1 -mindepth 1; find /d/ -name '*.txt'", "", "./e/f.txt\n./e\n/d/e/f.txt\n"},
		{"mkdir -p /d/e; echo > /d/e/f; find /d -type d ! -name d -print0 | tr '\\0' ,", "", "/d/e,"},
		{"mkdir -p /d/e; echo x > /d/e/f; find /d -type f -exec cat {} \\; -print; find /d -type f -exec echo 1 {} +", "", "x\n/d/e/f\n1 /d/e/f\n"},
		{"mkdir -p /d/e; echo x > /d/e/f; find /d -path '/d/*f' -delete; find /d; find /d -delete; ls /d", "", "/d\n/d/e\nstderr: ls: cannot access '/d': No such file or directory\nexit 2"},
		{"mkdir /d; cd /d; echo > a; echo > b; find . -type f -exec test {} = ./a \\; -delete; ls; find . -delete; find /d", "", "b\n/d\n"},
		{"mkdir /d; find /d -exec false \\; -exec echo {} +; echo > /d/a; find /d -name '[!d]'; ln -s d /l; find /l /l/", "", "/d/a\n/l\n/l/\n/l/a\n"},
		{"find /none", "", "stderr: find: /none: No such file or directory\nexit 1"},
		{"find / -newer x", "", "stderr: find: syntax error: -newer of find is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1"},

		{"mkdir /d; echo > /d/f; ln -s d /l; ln -s /l/f /m; readlink /m; readlink -f /m; realpath /l/../none; readlink /d || echo no", "", "/l/f\n/d/f\n/none\nno\n"},
		{"readlink -e /none; echo $?; readlink -m /none/x", "", "1\nstderr: readlink: syntax error: readlink -m /none/x is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1"},
		{"realpath /none/x", "", "stderr: realpath: /none/x: No such file or directory\nexit 1"},
		{"which sh nothing; echo $?", "", "/bin/sh\n1\n"},
		{"uname; uname -sm; uname -n", "", "Linux\nLinux x86_64\nhost\n"},
		{"f=$(mktemp); g=$(mktemp /var/xXXXXXX); d=$(mktemp -d); test -f $f -a -d $d && test $f != $(mktemp) && stat -c %a $f $d && echo ${#g} ${g%??????}", "", "600\n700\n12 /var/x\n"},
		{"mkdir /d; cd /d; f=$(mktemp -p /tmp xXXXX); test -f $f && echo ${#f}; mktemp xXXXX | wc -c; ls | wc -l; mktemp -u yXXXX | wc -c; ls | wc -l", "", "10\n6\n1\n6\n1\n"},
		{"mktemp x", "", "stderr: mktemp: too few X's in template 'x'\nexit 1"},
	} {
		root, err := files.NewRoot(files.NewTree(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, &shell.Shell{Files: root, Hostname: "host"}, test.input, "sh", "-c", test.script); got != test.want {
			t.Errorf("%s\ngot  %q\nwant %q", test.script, got, test.want)
		}
	}
}

// TestFiltersHaveLimits has programs that would write or compare without end.
func TestFiltersHaveLimits(t *testing.T) {
	for script, input := range map[string]string{
		"sed '" + strings.Repeat("s/.*/&&&&&&&&/;", 20) + "'":   "0123456789\n",
		"sed -E 's/(a|b|aa|ab){1,500}$/x/'":                     strings.Repeat("ab", 20<<20) + "\n",
		"sed s/a/b/g":                                           strings.Repeat("a", 20<<20) + "\n",
		"sed -E 's/()()()()()()()()()()()/b/g'":                 strings.Repeat("a", 1<<20) + "\n",
		"grep -E '(a|b|aa|ab){1,500}$'":                         strings.Repeat("ab", 20<<20) + "\n",
		"x=$(printf %0999d 1); xargs -I {} echo $x{}{}{}{}{}{}": strings.Repeat("a", 3<<20),
		"x=$(printf %0999d 1); x=$(echo $x | sed 's/[01]/{}/g'); y=$x$x$x$x$x$x$x$x; y=$y$y$y$y$y$y; tr '\\0' a < /dev/zero | head -c 120000 | xargs -I {} echo $y": "",
		"sort": strings.Repeat("a\n", 4<<20),
		"cut -c " + strings.TrimSuffix(strings.Repeat("1,", 50<<10), ","): strings.Repeat("a", 1<<20),
	} {
		root, err := files.NewRoot(files.NewTree(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, &shell.Shell{Files: root}, input, "sh", "-c", script); !strings.Contains(got, "which is a limit of the shell of fakecluster") {
			t.Errorf("%.60s: %.200q", script, got)
		}
	}
}

// TestKnowsFilters proves which commands are run as what they are: those that edit or read a file of an image are not.
func TestKnowsFilters(t *testing.T) {
	root, err := files.NewRoot(files.NewTree(), nil)
	if err == nil {
		err = root.WriteFile("/config/a", nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]bool{
		"sed -i s/a/b/ /config/a":                            true,
		"sed -i s/a/b/ /etc/nginx/nginx.conf":                false,
		"cp /config/a /etc/b; sed -i s/a/b/ /etc/b":          true,
		"sed ':a;N;$!ba' /config/a":                          false,
		`sed "s/a/$B/" /config/a`:                            true,
		"cat /config/a | sort | uniq -c | cut -c 1 | base64": true,
		"sort /usr/share/words":                              false,
		"find /config -type f -exec chmod 600 {} \\;":        true,
		"find /config -type f -exec gzip {} \\;":             false,
		"find /config -newer x":                              false,
		"find /opt/image":                                    false,
		"echo a | xargs -n 1 rm -f":                          true,
		"echo a | xargs -I{} kubectl delete {}":              false,
		"cp /config/a /b":                                    true,
		"cp /plugins/x /b":                                   false,
	} {
		if got := shell.Knows([]string{"sh", "-c", script}, root.ReadFile); got != want {
			t.Errorf("%s: known is %v, want %v", script, got, want)
		}
	}
}

// FuzzFilters runs programs with arguments, which lines separate. None panics, runs for ever, or uses more than its share of memory.
func FuzzFilters(f *testing.F) {
	for _, words := range []string{
		"sed\n-n\n/a/,$!s/\\(x*\\)[]\\/]/\\1&\\n/2gp;y/ab/BA/;1i\\\\\n2q;$=", "sed\n-E\n-i\ns|(a|b){2,3}|<\\1>|I\n/script", "sed\n-e\na\\\n-e\nx", "tr\n-cs\n[:alpha:]\\012-\\r[x*3]\n[y*]",
		"cut\n-d:\n-sf2-,1", "cut\n-b-3", "sort\n-t,\n-k2,3nr\n-u\n-f", "uniq\n-ci", "xargs\n-n2\nsed\ns/a/b/", "xargs\n-I\n{}\nfind\n/{}\n-exec\necho\n{}\n;", "find\n/\n!\n-name\n[a-z]*\n-type\nf\n-print0",
		"find\n/\n-mindepth\n1\n-delete", "base64\n-w3", "base64\n-d", "sha256sum\n-c", "mktemp\n-d\n/x/yXXXX", "readlink\n-f\n/a/../script", "grep\n-Ewo\n(a|b)*c",
	} {
		f.Add(words, "a b:c,d\n\"x y\"\n\nYWI=\n")
	}
	f.Fuzz(func(t *testing.T, words, input string) {
		root, err := files.NewRoot(files.NewTree(), nil)
		if err == nil {
			err = root.WriteFile("/script", []byte(input), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Split(words, "\n")
		if !slices.Contains([]string{"sed", "tr", "cut", "sort", "uniq", "xargs", "find", "base64", "sha256sum", "mktemp", "readlink", "grep"}, args[0]) {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := &counted{cancel: cancel}
		s := &shell.Shell{Files: root, Hostname: "h"}
		shell.Knows(args, root.ReadFile)
		s.Run(ctx, shell.Command{Args: args, Stdin: strings.NewReader(input), Stdout: out, Stderr: out})
		if ctx.Err() == context.DeadlineExceeded {
			t.Errorf("%q runs for a minute", args)
		}
	})
}
