package shell_test

import (
	"errors"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// TestOwners plays what the programs of a user see of owners and modes, in a container with a volume that belongs to a group.
func TestOwners(t *testing.T) {
	user := files.Identity{Owner: files.Owner{User: 1000}, Groups: []int64{2000}}
	for _, test := range []struct {
		name   string
		who    files.Identity
		script string
		want   string
	}{
		{"id of root", files.Identity{}, "id; id -u; id -un; whoami", "uid=0(root) gid=0(root) groups=0(root)\n0\nroot\nroot\n"},
		{"id of root for another", user, "id root; id -un 0; id -u root; id 12; id -x", "uid=0(root) gid=0(root) groups=0(root)\nroot\n0\nstderr: id: '12': no such user\nid: invalid option -- 'x'\nexit 1"},
		{"id of a user", user, "id; id -u; id -G; id -gn; whoami", "uid=1000 gid=0(root) groups=0(root),2000\n1000\n0 2000\nroot\nstderr: whoami: unknown uid 1000\nexit 1"},
		{"a volume gives its group", user, "echo a > /data/f; mkdir -p /data/d/e; echo a > /data/d/e/f; ls -ld /data | head -c 22; echo; stat -c '%n %a %u:%g' /data/f /data/d /data/d/e/f",
			"drwxrwsrwx 1 root 2000\n/data/f 644 1000:2000\n/data/d 2755 1000:2000\n/data/d/e/f 644 1000:2000\n"},
		{"other files have the group of their user", user, "echo a > /f; ls -ln /f | head -c 22; stat -c ' %U %G %A %F' /f", "-rw-r--r-- 1 1000 0 2  1000 root -rw-r--r-- regular file\n"},
		{"a file that is there keeps its owner", user, "echo b >> /of-root; echo c > /of-root; stat -c '%U' /of-root", "root\n"},
		{"chown of root", files.Identity{}, "mkdir -p /a/b; echo x > /a/b/f; chown -R 1000:2000 /a; stat -c '%u:%g' /a /a/b/f; chgrp 0 /a; chown root /a/b; stat -c '%U:%G' /a /a/b",
			"1000:2000\n1000:2000\n1000:root\nroot:2000\n"},
		{"chown of a user", user, "echo x > /f; chown 1000:2000 /f && stat -c %g /f; chown 1001 /f; chmod 600 /of-root; chown nobody /f",
			"2000\nstderr: chown: /f: Operation not permitted\nchmod: /of-root: Operation not permitted\nchown: invalid user: 'nobody'\nexit 1"},
		{"modes", files.Identity{}, "echo x > /f; for m in 640 u+x,go= a+r g=u +w -x u=rw,g=r,o= 4755 u-s u=rw+x,g-rx+w a=; do chmod $m /f; stat -c '%a %A' /f; done",
			"640 -rw-r-----\n700 -rwx------\n744 -rwxr--r--\n774 -rwxrwxr--\n774 -rwxrwxr--\n664 -rw-rw-r--\n640 -rw-r-----\n4755 -rwsr-xr-x\n755 -rwxr-xr-x\n725 -rwx-w-r-x\n0 ----------\n"},
		{"formats of stat", files.Identity{}, `echo x > /f; stat --printf '%a\t%n\n' /f; stat --printf=%s /f; stat --format %U /f; stat -c '%s\n' /f`, "644\t/f\n2root\n2\\n\n"},
		{"links of ls", files.Identity{}, "mkdir /d; echo x > /d/f; ln -s f /d/l; ln -s /none /d/n; ln -s d /e; ls -l /d/l | cut -c 1-10,38-; ls -lL /d/l | cut -c 1-10; ls /e; ls -ld /e | cut -c 1; ls -l /e/ | wc -l; ls -d /d/n; ls -L /d/n",
			"lrwxrwxrwx /d/l -> f\n-rw-r--r--\nf\nl\nn\nl\n3\n/d/n\nstderr: ls: cannot access '/d/n': No such file or directory\nexit 2"},
		{"mv keeps the owner", files.Identity{}, "mkdir /d; echo x > /d/f; chown -R 1000:3000 /d; chmod 4750 /d/f; mv /d /data/e; stat -c '%u:%g %a' /data/e /data/e/f", "1000:3000 755\n1000:3000 4750\n"},
		{"mv of a user keeps the owner in its volume only", user, "mkdir /d; mv /of-root /d/f; stat -c %u /d/f; mv /d/f /data/f; stat -c '%u:%g' /data/f", "0\n1000:0\n"},
		{"cp keeps the owner with -p and -a", files.Identity{}, "echo x > /f; chown 1000:3000 /f; cp /f /data/1; cp -p /f /data/2; mkdir /d; cp -a /f /d/g; chown 7 /d; cp -a /d /data/3; stat -c '%u:%g' /data/1 /data/2 /data/3 /data/3/g",
			"0:2000\n1000:3000\n7:0\n1000:3000\n"},
		{"cp -p of a user keeps a group of theirs", user, "cp -p /of-root /f; stat -c '%u:%g' /f; cp -p /data/s /t; stat -c '%u:%g' /t", "1000:0\n1000:2000\n"},
		{"a directory whose name begins with a dot", files.Identity{}, "mkdir .ssh ssh; echo a > .ssh/id; echo b > ssh/id; chmod -R 600 /.ssh; stat -c '%a %n' .ssh .ssh/id ssh/id; chmod -R u+x /.none",
			"600 .ssh\n600 .ssh/id\n644 ssh/id\nstderr: chmod: /.none: No such file or directory\nexit 1"},
		{"modes of directories", files.Identity{}, "mkdir -m 1777 /d; stat -c '%a %A' /d; echo x > /d/f; chmod -R u=rwX,go=rX /d; stat -c '%a %F' /d /d/f; chmod g+s /d; mkdir /d/e; stat -c %a /d/e",
			"1777 drwxrwxrwt\n755 directory\n644 regular file\n2755\n"},
		{"mkdir", files.Identity{}, "mkdir /n -m 700 && stat -c %a /n; mkdir -p /n; mkdir /n; mkdir /x/y; mkdir -pm 750 /x/y; stat -c %a /x /x/y",
			"700\n755\n750\nstderr: mkdir: cannot create directory '/n': File exists\nmkdir: cannot create directory '/x/y': No such file or directory\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			volume := files.NewTree()
			volume.Share(2000)
			root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
			if err == nil {
				err = errors.Join(root.WriteFile("/of-root", []byte("a\n"), 0o644), root.WriteFile("/data/s", nil, 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
			root.RunAs(test.who)
			if got := run(t, &shell.Shell{Files: root}, "", "sh", "-c", test.script); got != test.want {
				t.Errorf("%s\ngot  %q\nwant %q", test.script, got, test.want)
			}
		})
	}
}

// TestLn makes links, also into another volume.
func TestLn(t *testing.T) {
	for script, want := range map[string]string{
		"echo a > /data/f; ln -s /data/f /link; cat /link; echo b >> /link; cat /data/f":                       "a\na\nb\n",
		"mkdir /d; echo a > /d/f; ln -s /d /data/dir; cat /data/dir/f; ln -s g /data/dir; ls /d; rm /data/dir": "a\nf\ng\n",
		"echo a > /x; echo b > /y; ln -s /x /link; ln -s /y /link; ln -sf /y /link; cat /link":                 "b\nstderr: ln: failed to create symbolic link '/link': File exists\n",
		"mkdir /a /b; ln -s /a /link; ln -sfn /b /link; echo 1 > /link/f; ls /b; ls -l /data | wc -l":          "f\n0\n",
		"ln /x /y": "stderr: ln: syntax error: a hard link is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1",
		"echo x > /x; ln -s /x /data/1; ln -s /data/1 /2; cat /2; ln -s /3 /4; ln -s /4 /3; cat /3 2>/dev/null; echo $?": "x\n1\n",
	} {
		root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: files.NewTree()}})
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, &shell.Shell{Files: root}, "", "sh", "-c", script); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
	}
}

// TestTr compares with what tr of GNU prints.
func TestTr(t *testing.T) {
	for _, test := range []struct{ arguments, input, want string }{
		{"a-c x", "abcd", "xxxd"},
		{"-d '[:digit:]'", "a1b2", "ab"},
		{"-dc '[:alnum:]_'", "a-b_1!", "ab_1"},
		{"'[:lower:]' '[:upper:]'", "abz9", "ABZ9"},
		{"-s '[:space:]' ' '", "a \t\n b", "a b"},
		{"--squeeze-repeats ab", "aabbcc", "abcc"},
		{"-ds b a", "aabba", "a"},
		{"'\\012' ,", "a\nb", "a,b"},
		{"'\\\\' /", "a\\b", "a/b"},
		{"-c 'a-z' '\\n'", "a1b", "a\nb"},
		{"abc '[x*2]y'", "abcd", "xxyd"},
		{"abc 'x[-*]'", "abcd", "x--d"},
		{"-t abc x", "abc", "xbc"},
		{"-d '[:punct:]'", "a.b-c", "abc"},
		{"'[a]' '(b)'", "[a]", "(b)"},
		{"a- b+", "a-", "b+"},
		{"-q a b", "", "stderr: tr: invalid option -- 'q'\nexit 1"},
		{"-d a b", "", "stderr: tr: extra operand 'b'\nexit 1"},
		{"a", "", "stderr: tr: missing operand\nexit 1"},
	} {
		root, err := files.NewRoot(files.NewTree(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, &shell.Shell{Files: root}, test.input, "sh", "-c", "tr "+test.arguments); got != test.want {
			t.Errorf("tr %s of %q: got %q, want %q", test.arguments, test.input, got, test.want)
		}
	}
}
