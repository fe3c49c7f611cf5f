package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/release"
)

// Names under which the command acts as a part of a control plane: the files that envtest looks for in
// KUBEBUILDER_ASSETS.
const (
	kubeAPIServerName = "kube-apiserver"
	etcdName          = "etcd"
	kubectlName       = "kubectl"
)

func envtestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envtest",
		Short: "Print a folder for KUBEBUILDER_ASSETS",
		Long: `Print a folder with kube-apiserver, etcd and kubectl in it, which are this command
under other names. With it, a test suite that uses envtest runs on fakecluster
unchanged, with any version of the Kubernetes libraries.

The folder is in your cache folder, readable by you alone. There is one for each
version of this command. Folders that were not used for 30 days are removed.
A folder that belongs to another user, or that others can write to, is refused.

kube-apiserver takes the flags of the real one; "kube-apiserver --help" lists
them. kubectl runs the kubectl on your PATH.`,
		Example: `  KUBEBUILDER_ASSETS=$(fakecluster envtest) go test ./...
  $(fakecluster envtest)/kube-apiserver --help`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := os.UserCacheDir()
			self, selfErr := os.Executable()
			version, versionErr := release.Parse(cmp.Or(cmd.Flag(kubernetesVersion).Value.String(), os.Getenv(release.Variable)))
			folder := ""
			if err = cmp.Or(err, selfErr, versionErr); err == nil {
				folder, err = cachedAssets(cache, self, release.Suffix(version), time.Now())
			}
			if err != nil {
				return fmt.Errorf("envtest: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), folder)
			return err
		},
	}
}

// keptFor is how long an unused folder is kept.
const keptFor = 30 * 24 * time.Hour

// cachedAssets returns the assets in the user's cache folder.
func cachedAssets(cache, executable, suffix string, now time.Time) (string, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	ours := filepath.Join(cache, "fakecluster")
	if err := ownFolder(ours); err != nil {
		return "", err
	}
	return assets(filepath.Join(ours, "envtest"), executable, suffix, now)
}

// assets returns the folder below the cache with copies of an executable under the names of a control plane.
// It makes the folder if it does not exist. The name of the folder is a hash of the executable, which may be
// a temporary file of the go command, and the suffix. The executable reads the version of Kubernetes from
// that suffix.
func assets(cache, executable, suffix string, now time.Time) (string, error) {
	source, err := os.Open(executable)
	if err != nil {
		return "", err
	}
	defer source.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, source); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(cache), 0o700); err != nil {
		return "", err
	}
	if err := ownFolder(cache); err != nil {
		return "", err
	}
	folder := filepath.Join(cache, hex.EncodeToString(sum.Sum(nil)[:16])+suffix)
	if err := checkOwn(folder); errors.Is(err, fs.ErrNotExist) {
		if _, err := source.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		if err := makeAssets(cache, folder, source); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	// The modification time of the folder records its last use. Errors do not matter to this call.
	_ = os.Chtimes(folder, now, now)
	removeOld(cache, now.Add(-keptFor))
	return folder, nil
}

// makeAssets makes the folder under another name, and then renames it, so that no process sees an incomplete
// folder. If two processes do so at once, the first one wins.
func makeAssets(cache, folder string, source io.Reader) error {
	unfinished, err := os.MkdirTemp(cache, "unfinished-") // with mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	first := filepath.Join(unfinished, kubeAPIServerName)
	target, err := os.OpenFile(first, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	for _, name := range []string{etcdName, kubectlName} {
		if err := os.Link(first, filepath.Join(unfinished, name)); err != nil {
			return err
		}
	}
	if err := os.Rename(unfinished, folder); err != nil && checkOwn(folder) != nil {
		return err
	}
	return nil
}

// removeOld removes folders that have not been used since a time, and files that killed calls
// have left behind.
func removeOld(cache string, since time.Time) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.IsDir() && info.ModTime().Before(since) {
			_ = os.RemoveAll(filepath.Join(cache, entry.Name()))
		}
	}
}
