package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// serveData starts a process that serves a cluster from the file data in a folder.
func serveData(t *testing.T, folder, kubeconfig string, args ...string) *killing {
	t.Helper()
	k := &killing{kubeconfig: filepath.Join(folder, kubeconfig)}
	k.args = append([]string{"serve", "--data", filepath.Join(folder, "data"), "--kubeconfig", k.kubeconfig}, args...)
	k.start(t)
	return k
}

// terminate ends the process as a user does, and holds it to an exit status.
func (k *killing) terminate(t *testing.T, status int) {
	t.Helper()
	if err := k.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = k.process.Wait() // the error has no more than the status
	if got := k.process.ProcessState.ExitCode(); got != status {
		t.Errorf("status %d, want %d; stderr %s", got, status, k.stderr)
	}
}

func createConfigMap(t *testing.T, client dynamic.Interface, name string) error {
	t.Helper()
	configMap := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
	_, err := client.Resource(configMaps).Namespace("default").Create(t.Context(), configMap, metav1.CreateOptions{})
	return err
}

// The next serve never begins without a write that was acknowledged.
func TestServeRefusesADamagedFile(t *testing.T) {
	for _, fsync := range []string{"always", "second"} {
		t.Run(fsync, func(t *testing.T) {
			folder := t.TempDir()
			data := filepath.Join(folder, "data")
			k := serveData(t, folder, "kubeconfig", "--fsync", fsync)
			for i := range 6 {
				if err := createConfigMap(t, k.client, fmt.Sprint("settings-", i)); err != nil {
					t.Fatal(err)
				}
			}
			k.terminate(t, 0)
			whole, err := os.ReadFile(data)
			if err != nil {
				t.Fatal(err)
			}
			flipped := append([]byte(nil), whole...)
			flipped[bytes.LastIndex(whole, []byte("settings-0"))] ^= 1
			last := bytes.LastIndex(whole, []byte("\xfcfrm")) // where the last frame begins
			for what, content := range map[string][]byte{"one bit": flipped, "the last byte": whole[:len(whole)-1], "the last frame": whole[:last]} {
				if err := os.WriteFile(data, content, 0o600); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				status := execute(t.Context(), []string{"serve", "--data", data}, &stdout, &stderr)
				want := regexp.MustCompile(`^fakecluster: serve: WithDataFile: data file ` + regexp.QuoteMeta(data) +
					`: the data (is damaged|ends here), and was on the disk up to byte ` + fmt.Sprint(len(whole)) + `; nothing has been cut off \(at byte \d+\)\n$`)
				if status != 1 || stdout.Len() > 0 || !want.MatchString(stderr.String()) {
					t.Errorf("%s: status %d, stdout %q, stderr %q", what, status, &stdout, &stderr)
				}
				if left, err := os.ReadFile(data); err != nil || !bytes.Equal(left, content) {
					t.Errorf("%s: the file has changed, %v", what, err)
				}
			}

			if err := os.WriteFile(data, append(whole, "torn"...), 0o600); err != nil {
				t.Fatal(err)
			}
			k.start(t)
			if got := list(t, k.kubeconfig, "", "v1", "configmaps"); len(got) < 6 {
				t.Errorf("ConfigMaps %q", got)
			}
			k.terminate(t, 0)
			kept := fmt.Sprintf("%s.cut-%d", data, len(whole))
			if !strings.Contains(k.stderr.String(), kept) {
				t.Errorf("stderr does not name the copy: %s", k.stderr)
			}
			if content, err := os.ReadFile(kept); err != nil || string(content) != "torn" {
				t.Errorf("the copy: %q, %v", content, err)
			}
		})
	}
}

// A process whose file was deleted accepts no more writes, and leaves alone the file that another one serves in its place.
func TestServeDoesNotChangeTheFileOfAnotherProcess(t *testing.T) {
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	a := serveData(t, folder, "a")
	if err := createConfigMap(t, a.client, "of-a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	b := serveData(t, folder, "b")
	const gone = "fakecluster cannot write to its data file: it has been deleted, moved or replaced while it was open"
	if err := createConfigMap(t, a.client, "more-of-a"); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), gone) {
		t.Errorf("a write: %v", err)
	}
	if err := createConfigMap(t, b.client, "of-b"); err != nil {
		t.Error(err)
	}
	if got := list(t, a.kubeconfig, "", "v1", "configmaps"); !strings.Contains(strings.Join(got, " "), "of-a") {
		t.Errorf("ConfigMaps of the cluster whose file is gone: %q", got)
	}
	a.terminate(t, 1)
	if want := "fakecluster: serve: data file " + data + ": it has been deleted, moved or replaced while it was open; nothing more is written to it\n"; !strings.HasSuffix(a.stderr.String(), want) {
		t.Errorf("stderr %s", a.stderr)
	}
	b.terminate(t, 0)
	b.start(t)
	if got := strings.Join(list(t, b.kubeconfig, "", "v1", "configmaps"), " "); !strings.Contains(got, "of-b") || strings.Contains(got, "of-a") {
		t.Errorf("ConfigMaps %q", got)
	}
	b.terminate(t, 0)
}
