package shell_test

import (
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
		{"id of a user", user, "id; id -u; id -G; id -gn; whoami", "uid=1000 gid=0(root) groups=0(root),2000\n1000\n0 2000\nroot\nstderr: whoami: unknown uid 1000\nexit 1"},
		{"a volume gives its group", user, "echo a > /data/f; mkdir -p /data/d/e; echo a > /data/d/e/f; ls -ld /data | head -c 22; echo; stat -c '%n %a %u:%g' /data/f /data/d /data/d/e/f",
			"drwxrwsrwx 1 root 2000\n/data/f 644 1000:2000\n/data/d 2755 1000:2000\n/data/d/e/f 644 1000:2000\n"},
		{"other files have the group of their user", user, "echo a > /f; ls -ln /f | head -c 22; stat -c ' %U %G %A %F' /f", "-rw-r--r-- 1 1000 0 2  1000 root -rw-r--r-- regular file\n"},
		{"a file that is there keeps its owner", user, "echo b >> /of-root; echo c > /of-root; stat -c '%U' /of-root", "root\n"},
		{"chown of root", files.Identity{}, "mkdir -p /a/b; echo x > /a/b/f; chown -R 1000:2000 /a; stat -c '%u:%g' /a /a/b/f; chgrp 0 /a; chown root /a/b; stat -c '%U:%G' /a /a/b",
			"1000:2000\n1000:2000\n1000:root\nroot:2000\n"},
		{"chown of a user", user, "echo x > /f; chown 1000:2000 /f && stat -c %g /f; chown 1001 /f; chmod 600 /of-root; chown nobody /f",
			"2000\nstderr: chown: /f: Operation not permitted\nchmod: /of-root: Operation not permitted\nchown: invalid user: 'nobody'\nexit 1"},
		{"modes", files.Identity{}, "echo x > /f; for m in 640 u+x,go= a+r g=u +w -x u=rw,g=r,o= 4755 u-s; do chmod $m /f; stat -c '%a %A' /f; done",
			"640 -rw-r-----\n700 -rwx------\n744 -rwxr--r--\n774 -rwxrwxr--\n774 -rwxrwxr--\n664 -rw-rw-r--\n640 -rw-r-----\n4755 -rwsr-xr-x\n755 -rwxr-xr-x\n"},
		{"a directory whose name begins with a dot", files.Identity{}, "mkdir .ssh ssh; echo a > .ssh/id; echo b > ssh/id; chmod -R 600 /.ssh; stat -c '%a %n' .ssh .ssh/id ssh/id; chmod -R u+x /.none",
			"600 .ssh\n600 .ssh/id\n644 ssh/id\nstderr: chmod: /.none: No such file or directory\nexit 1"},
		{"modes of directories", files.Identity{}, "mkdir -m 1777 /d; stat -c '%a %A' /d; echo x > /d/f; chmod -R u=rwX,go=rX /d; stat -c '%a %F' /d /d/f; chmod g+s /d; mkdir /d/e; stat -c %a /d/e",
			"1777 drwxrwxrwt\n1755 directory\n644 regular file\n2755\n"},
		{"mkdir", files.Identity{}, "mkdir /n -m 700 && stat -c %a /n; mkdir -p /n; mkdir /n; mkdir /x/y; mkdir -pm 750 /x/y; stat -c %a /x /x/y",
			"700\n755\n750\nstderr: mkdir: cannot create directory '/n': File exists\nmkdir: cannot create directory '/x/y': No such file or directory\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			volume := files.NewTree()
			volume.Share(2000)
			root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
			if err == nil {
				err = root.WriteFile("/of-root", []byte("a\n"), 0o644)
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
