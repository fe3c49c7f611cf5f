package shell_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// newLinks makes a shell with a volume on disk at /data: the file d/file, and links to it, to its folder, to nothing and out of the volume.
func newLinks(t *testing.T) (_ *shell.Shell, folder string) {
	t.Helper()
	volume := files.NewTree()
	t.Cleanup(func() { _ = volume.Close() })
	if err := volume.Write("d/file", files.File{Data: []byte("text"), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	folder, err := volume.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "d/file", "folder": "d", "dangling": "none", "out": "/etc/hostname"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
	if err != nil {
		t.Fatal(err)
	}
	return &shell.Shell{Files: root}, folder
}

// rm removes a link, whatever it leads to, as on Linux.
func TestRmRemovesLinks(t *testing.T) {
	s, folder := newLinks(t)
	for _, name := range []string{"link", "folder", "dangling", "out"} {
		if got := run(t, s, "", "rm", "/data/"+name); got != "" {
			t.Errorf("rm %s: %q", name, got)
		}
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after rm: %v", name, err)
		}
	}
	if got := run(t, s, "", "cat", "/data/d/file"); got != "text" {
		t.Errorf("what the links led to: %q", got)
	}
	if got := run(t, s, "", "rm", "/data/none"); got != "stderr: rm: '/data/none': No such file or directory\nexit 1" {
		t.Errorf("rm of nothing: %q", got)
	}
	if got := run(t, s, "", "rm", "/data/d"); !strings.HasSuffix(got, "exit 1") {
		t.Errorf("rm of a folder: %q", got)
	}
}

// tar stores links as links, and does not read what they lead to.
func TestTarStoresLinks(t *testing.T) {
	s, _ := newLinks(t)
	archive := run(t, s, "", "tar", "cf", "-", "/data")
	links := map[string]string{}
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeSymlink {
			links[header.Name] = header.Linkname
		}
	}
	for name, want := range map[string]string{"data/link": "d/file", "data/folder": "d", "data/dangling": "none", "data/out": "/etc/hostname"} {
		if links[name] != want {
			t.Errorf("%s leads to %q, want %q", name, links[name], want)
		}
	}
}

// tar unpacks links as links, also in memory. A link is replaced by what an archive has in its place, and not followed.
func TestTarUnpacksLinks(t *testing.T) {
	from, folder := newLinks(t)
	archive := run(t, from, "", "tar", "cf", "-", "/data")
	if err := os.Symlink("d/file", filepath.Join(folder, "replaced")); err != nil {
		t.Fatal(err)
	}
	var replacing strings.Builder
	w := tar.NewWriter(&replacing)
	for _, header := range []*tar.Header{{Name: "data/link", Typeflag: tar.TypeReg, Size: 3, Mode: 0o644}, {Name: "data/pipe", Typeflag: tar.TypeFifo}} {
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := io.WriteString(w, "new"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	root, err := files.NewRoot(files.NewTree(), nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := &shell.Shell{Files: root}
	if got := run(t, memory, archive, "tar", "xmf", "-", "-C", "/"); got != "" {
		t.Fatalf("tar x: %q", got)
	}
	for name, want := range map[string]string{
		"link": "text", "folder/file": "text",
		"dangling": "stderr: cat: /data/dangling: No such file or directory\nexit 1", "out": "stderr: cat: /data/out: No such file or directory\nexit 1",
	} {
		if got := run(t, memory, "", "cat", "/data/"+name); got != want {
			t.Errorf("cat %s: %q, want %q", name, got, want)
		}
	}
	if got := run(t, memory, "", "tar", "cf", "-", "/data"); len(got) != len(archive) {
		t.Errorf("packed again it has %d bytes, and had %d", len(got), len(archive))
	}
	if got, want := run(t, memory, replacing.String(), "tar", "xf", "-", "-C", "/"), "tar: data/pipe: syntax error: a file that is neither regular, a directory nor a symbolic link is not supported by the shell of fakecluster"; !strings.Contains(got, want) {
		t.Errorf("tar x: %q, want %q", got, want)
	}
	for name, want := range map[string]string{"link": "new", "d/file": "text"} {
		if got := run(t, memory, "", "cat", "/data/"+name); got != want {
			t.Errorf("cat %s: %q, want %q", name, got, want)
		}
	}
}

// A directory of an archive replaces a link, so that nothing is written through the link. The directory to extract to may be a link.
func TestTarReplacesLinksByDirectories(t *testing.T) {
	for where, s := range places(t) {
		t.Run(where, func(t *testing.T) {
			var archive strings.Builder
			w := tar.NewWriter(&archive)
			for _, header := range []*tar.Header{
				{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
				{Name: "folder/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "folder/new", Typeflag: tar.TypeReg, Mode: 0o644},
				{Name: "dangling/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "dangling/new", Typeflag: tar.TypeReg, Mode: 0o644},
				{Name: "out/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "link/", Typeflag: tar.TypeDir, Mode: 0o755},
			} {
				if err := w.WriteHeader(header); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := run(t, s, archive.String(), "tar", "xf", "-", "-C", "/data"); got != "" {
				t.Errorf("tar x: %q", got)
			}
			const want = "/data/d:\nfile\n\n/data/folder:\nnew\n\n/data/dangling:\nnew\n\n/data/out:\n\n/data/link:\n"
			if got := run(t, s, "", "ls", "/data/d", "/data/folder", "/data/dangling", "/data/out", "/data/link"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			const script = "for n in folder dangling out link; do test -L /data/$n && echo $n; done; cat /data/d/file"
			if got := run(t, s, "", "sh", "-c", script); got != "text" {
				t.Errorf("what is a link still, and the file behind one: %q", got)
			}
			if err := errors.Join(s.Files.Mkdir("/own/d"), s.Files.Symlink("d", "/own/to")); err != nil {
				t.Fatal(err)
			}
			if got := run(t, s, archive.String(), "tar", "xf", "-", "-C", "/own/to"); got != "" {
				t.Errorf("tar x to a link: %q", got)
			}
			if got := run(t, s, "", "sh", "-c", "test -L /own/to && ls /own/d"); got != "dangling\nfolder\nlink\nout\n" {
				t.Errorf("what the link leads to has %q", got)
			}
		})
	}
}

// places returns the shell of newLinks, and one that has the same in memory.
func places(t *testing.T) map[string]*shell.Shell {
	t.Helper()
	disk, _ := newLinks(t)
	root, err := files.NewRoot(files.NewTree(), nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := &shell.Shell{Files: root}
	if got := run(t, memory, run(t, disk, "", "tar", "cf", "-", "/data"), "tar", "xf", "-", "-C", "/"); got != "" {
		t.Fatal(got)
	}
	return map[string]*shell.Shell{"on disk": disk, "in memory": memory}
}

// cp -r copies links as links, and cp without options copies what they lead to; mv moves them; test knows them.
func TestCopiesOfLinks(t *testing.T) {
	for where, s := range places(t) {
		t.Run(where, func(t *testing.T) {
			for _, test := range []struct{ script, want string }{
				{"cp -r /data /copy; cat /copy/link /copy/folder/file", "texttext"},
				{"test -L /copy/link && test -h /copy/dangling && test -L /copy/out && echo links", "links\n"},
				{"test -L /copy/d/file || test -L /copy/none || echo no", "no\n"},
				{"test -e /copy/dangling || echo leads to nothing", "leads to nothing\n"},
				{"cp /copy/link /copy/content; test -L /copy/content || cat /copy/content", "text"},
				{"mv /copy/dangling /copy/moved; mv /copy/folder /copy/d; ls /copy /copy/d; test -L /copy/moved && test -L /copy/d/folder && echo links",
					"/copy:\ncontent\nd\nlink\nmoved\nout\n\n/copy/d:\nfile\nfolder\nlinks\n"},
			} {
				if got := run(t, s, "", "sh", "-c", test.script); got != test.want {
					t.Errorf("%s: %q, want %q", test.script, got, test.want)
				}
			}
		})
	}
}

// cp and mv do with links what those of GNU coreutils 9.1 do, which printed what is wanted here: links have @ and directories / behind their names, and
// files = and their content; what is not there has ! in front. Numbers are exit codes.
func TestCpAndMvOfLinksAsGNU(t *testing.T) {
	const begin = `show() {
	for n in "$@"; do
		if test -L $n; then printf "$n@ "; elif test -d $n; then printf "$n/ "; elif test -e $n; then printf "$n=$(cat $n) "; else printf "!$n "; fi
	done
}
cd /data; mkdir t t/sub cycle; printf new >new; printf sub >t/sub/file; printf cycle >cycle/file
`
	for _, test := range []struct{ script, want string }{
		{"cp -r link x; cp -a link y; cp -P link z; cp -r folder v; show x y z v", "x@ y@ z@ v@"},
		{"cp link x; cp -L link y; cp -rL folder z; cp -aL link v; cp -r folder/ w; show x y z v w", "x=text y=text z/ v=text w/"},
		{"cp -PL link x; cp -LP link y; cp -rPL folder z; cp -La folder v; show x y z v", "x=text y@ z/ v@"},
		{"cp -a dangling x; cp -r dangling y; cp -P dangling z; show x y z", "x@ y@ z@"},
		{`cp dangling x; printf "$? "; cp -rL dangling x; printf "$? "; show x`, "1 1 !x"},
		{"cp -r t x; show x/up x/dangling x/sub/file", "x/up@ x/dangling@ x/sub/file=sub"},
		{`cp -rL t x; printf "$? "; show x/up x/up/file x/dangling x/sub/file`, "1 x/up/ x/up/file=text !x/dangling x/sub/file=sub"},
		{`cp -rL cycle x; printf "$? "; show x/loop x/file`, "1 !x/loop x/file=cycle"},
		{"cp new link; show link d/file", "link@ d/file=new"},
		{"cp -r new link; cp -a new folder/inner; show link d/file d/inner", "link@ d/file=new d/inner@"},
		{`cp new dangling; printf "$? "; cp -a new dangling; printf "$? "; show dangling none`, "1 1 dangling@ !none"},
		{"cp -r link new; cp -a folder dangling; show new dangling", "new@ dangling@"},
		{"cp -r t/dangling link; show link d/file", "link@ d/file=text"},
		{`cp -a link d/file; printf "$? "; cp link d/file; printf "$? "; cp -a d/file link; printf "$? "; show link d/file`, "1 1 1 link@ d/file=text"},
		{`cp -r d link; printf "$? "; cp -rT d folder; printf "$? "; cp -rT t folder; printf "$? "; cp -r d folder; printf "$? "; show link folder`, "1 1 1 1 link@ folder@"},
		{"cp -r t/. folder; show folder d/up d/dangling d/sub/file d/file", "folder@ d/up@ d/dangling@ d/sub/file=sub d/file=text"},
		{`cp -T new folder; printf "$? "; cp -rT t x; show folder x/up x/t`, "1 folder@ x/up@ !x/t"},
		{`mkdir s; cp new s/link; cp new s/folder; cp -r s/. .; printf "$? "; show link d/file folder`, "1 link@ d/file=new folder@"},
		{`mkdir s s/folder; cp new s/folder/new; cp -r s/. .; printf "$? "; show folder d/new`, "1 folder@ !d/new"},
		{"mv new link; show new link d/file", "!new link=new d/file=text"},
		{"mv new dangling; show new dangling none", "!new dangling=new !none"},
		{"mv new folder; show new folder d/new", "!new folder@ d/new=new"},
		{"mv -T new folder; show new folder d/new", "!new folder=new !d/new"},
		{`mv -n new link; printf "$? "; mv -n new none; printf "$? "; show new link none`, "0 0 !new link@ none=new"},
		{"mv link dangling; mv folder x; show link dangling folder x", "!link dangling@ !folder x@"},
		{`mv link d/file; printf "$? "; mv d/inner folder/inner; printf "$? "; show link d/file d/inner`, "1 1 link@ d/file=text d/inner@"},
		{`mv d/inner d/file; printf "$? "; mv d/file link; printf "$? "; show link d/file`, "1 0 link=text !d/file"},
		{`mv -T d folder; printf "$? "; show d/file folder`, "1 d/file=text folder@"},
		{`mkdir d/new; mv new d; printf "$? "; show new d/new`, "1 new=new d/new/"},
		{`mv folder folder/y; printf "$? "; show folder d/y`, "0 !folder d/y@"},
	} {
		for where, s := range places(t) {
			for name, target := range map[string]string{"t/up": "../d", "t/dangling": "../none", "cycle/loop": ".", "d/inner": "file"} {
				if err := s.Files.Symlink(target, "/data/"+name); err != nil {
					t.Fatal(err)
				}
			}
			got, _, _ := strings.Cut(run(t, s, "", "sh", "-c", begin+test.script), "stderr: ")
			if got = strings.TrimSpace(got); got != test.want {
				t.Errorf("%s %s: %q, want %q", test.script, where, got, test.want)
			}
		}
	}
}

// A copy that follows links ends, also if a link leads to what is being copied or written.
func TestCopiesIntoThemselvesEnd(t *testing.T) {
	for where, s := range places(t) {
		t.Run(where, func(t *testing.T) {
			if err := errors.Join(
				s.Files.Mkdir("/data/t/sub"), s.Files.Mkdir("/data/x/sub"), s.Files.Symlink("../../x/sub", "/data/t/sub/link"),
				s.Files.Mkdir("/data/w/u"), s.Files.Symlink("..", "/data/w/u/up"),
			); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct{ script, want string }{
				{"cp -rL /data/t/. /data/x", "stderr: cp: cannot copy a directory, '/data/t/sub/link', into itself\nexit 1"},
				{"cp -rL /data/w/u /data/w/v; ls /data/w/v /data/w/v/up", "/data/w/v:\nup\n\n/data/w/v/up:\n" +
					"stderr: cp: cannot copy cyclic symbolic link '/data/w/u/up/u'\ncp: cannot copy a directory, '/data/w/u/up/v', into itself\n"},
				{"cp -r / /new", "stderr: cp: cannot copy a directory, '/', into itself\nexit 1"},
				{"cp -r /data /data/folder/x", "stderr: cp: cannot copy a directory, '/data', into itself\nexit 1"},
			} {
				if got := run(t, s, "", "sh", "-c", test.script); got != test.want {
					t.Errorf("%s: %q, want %q", test.script, got, test.want)
				}
			}
		})
	}
}
