package images

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// written is what mounttest writes into new files.
const written = "mount-tester new file\n"

// mounttest creates files, and prints the content, the modes and the owners of files.
func mounttest(ctx context.Context, c *workloads.ExecCommand) error {
	paths := map[string]*string{}
	retry, stop := 180, true
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		for _, name := range []string{"fs_type", "file_mode", "file_perm", "file_owner", "new_file_0644", "new_file_0666", "new_file_0660",
			"new_file_0777", "file_content", "file_content_in_loop"} {
			paths[name] = f.String(name, "", "")
		}
		f.IntVar(&retry, "retry_time", retry, "")
		f.BoolVar(&stop, "break_on_expected_content", stop, "")
	}); err != nil {
		return err
	}
	m := &mounts{ExecCommand: c}
	for _, step := range []struct {
		flag string
		do   func(path string) error
	}{
		{"fs_type", m.fsType},
		{"new_file_0644", m.create(0o644)},
		{"new_file_0666", m.create(0o666)},
		{"new_file_0660", m.create(0o660)},
		{"new_file_0777", m.create(0o777)},
		{"file_mode", m.mode},
		{"file_perm", m.permissions},
		{"file_owner", m.owner},
		{"file_content", m.content},
		{"file_content_in_loop", func(path string) error { return m.loop(ctx, path, time.Duration(retry)*time.Second, stop) }},
	} {
		if path := *paths[step.flag]; path != "" {
			if err := step.do(path); err != nil {
				m.failed = true
			}
		}
	}
	if m.failed {
		return workloads.Exit(1)
	}
	return nil
}

// mounts is a run of mounttest.
type mounts struct {
	*workloads.ExecCommand
	failed bool
}

func (m *mounts) print(format string, args ...any) { fmt.Fprintf(m.Stdout, format+"\n", args...) }

// fsType prints the type of the volume that is mounted at a path: tmpfs for a volume in memory.
func (m *mounts) fsType(path string) error {
	kind := "ext4"
	for _, s := range slices.Concat(m.Container.Pod.Spec.InitContainers, m.Container.Pod.Spec.Containers) {
		for _, mount := range s.VolumeMounts {
			if s.Name == m.Container.Name && mount.MountPath == path && m.inMemory(mount.Name) {
				kind = "tmpfs"
			}
		}
	}
	m.print("mount type of %q: %s", path, kind)
	return nil
}

func (m *mounts) inMemory(volume string) bool {
	return slices.ContainsFunc(m.Container.Pod.Spec.Volumes, func(v corev1.Volume) bool {
		if v.Name != volume {
			return false
		}
		return v.EmptyDir == nil || v.EmptyDir.Medium == corev1.StorageMediumMemory
	})
}

func (m *mounts) stat(path string) (fs.FileInfo, error) {
	info, err := fs.Stat(m.Container.FS(), strings.Trim(path, "/"))
	if err != nil {
		m.print("error from Stat(%q): %v", path, err)
	}
	return info, err
}

func (m *mounts) mode(path string) error {
	info, err := m.stat(path)
	if err == nil {
		m.print("mode of file %q: %v", path, info.Mode())
	}
	return err
}

func (m *mounts) permissions(path string) error {
	info, err := m.stat(path)
	if err == nil {
		m.print("perms of file %q: %v", path, info.Mode().Perm())
	}
	return err
}

func (m *mounts) owner(path string) error {
	if _, err := m.stat(path); err != nil {
		return err
	}
	var out bytes.Buffer
	code, err := m.Container.Exec(context.Background(), []string{"stat", "-L", "-c", "%u %g", path}, nil, &out, m.Stderr)
	user, group, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	if err == nil && code != 0 {
		err = fmt.Errorf("stat ends with %d", code)
	}
	m.print("owner UID of %q: %v\nowner GID of %q: %v", path, user, path, group)
	return err
}

func (m *mounts) create(mode fs.FileMode) func(path string) error {
	return func(path string) error {
		if err := m.Container.WriteFile(path, []byte(written), mode); err != nil {
			m.print("error writing new file %q: %v", path, err)
			return err
		}
		return m.content(path)
	}
}

func (m *mounts) content(path string) error {
	text, err := m.Container.ReadFile(path)
	if err != nil {
		m.print("error reading file content for %q: %v", path, err)
		return err
	}
	m.print("content of file %q: %s", path, text)
	return nil
}

// loop prints the content of a file every two seconds.
func (m *mounts) loop(ctx context.Context, path string, limit time.Duration, stop bool) error {
	for began := time.Now(); time.Since(began) < limit; {
		text, err := m.Container.ReadFile(path)
		switch {
		case err != nil:
			m.print("Error reading file %s: %v, retrying", path, err)
		default:
			m.print("content of file %q: %s", path, text)
			if stop && bytes.Equal(text, []byte(written)) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Second):
		}
	}
	return nil
}
