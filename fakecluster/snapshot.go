package fakecluster

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/store"
)

// WithSnapshot starts the cluster from a snapshot that Cluster.Snapshot has written: with its
// objects, their uids and resourceVersions, its definitions and its history. A watch may begin at a
// resourceVersion from before the snapshot, and a list may continue with a continue token; a
// revision that was compacted before the snapshot is answered with 410. Tokens of ServiceAccounts
// from the first cluster are valid in this one until they expire. So a cluster that is prepared
// once can be a fixture in testdata:
//
//	file, err := os.Open("testdata/prepared.snapshot")
//	…
//	c := fakecluster.Start(t, fakecluster.WithSnapshot(file))
//
// The credentials of RESTConfig, ConfigFor and ServiceAccountConfig are new, and a snapshot does not
// contain options: give the same ones again. Definitions, webhook configurations and APIServices that
// they install replace those of the same name, because they may refer to this process. Any other
// object of WithManifests and WithObjects is created if it does not exist, and stays as it is if it
// does.
//
// The reader is read to its end. It is an error if it does not have a whole snapshot, or one of a newer
// fakecluster. The option can be given once.
//
// Default: a new cluster.
func WithSnapshot(r io.Reader) Option {
	return once("WithSnapshot", func(s *settings) { s.snapshot = r })
}

// Fsync sets when a write to a data file is synced to the disk. A synced write survives a power failure. In
// either mode every write survives the end of the process, even by SIGKILL. Empty: FsyncAlways.
type Fsync string

const (
	// FsyncAlways makes each request wait until its write is on the disk. It is the default.
	FsyncAlways Fsync = "always"
	// FsyncEverySecond syncs writes to the disk within a second, which is much faster. A power failure loses
	// up to one second of writes.
	FsyncEverySecond Fsync = "second"
)

// dataFile has the arguments of WithDataFile.
type dataFile struct {
	path  string
	fsync Fsync
}

// WithDataFile keeps the cluster in a file. Each write is in the file before its request is answered,
// and the next cluster with the same file continues from there, as WithSnapshot describes it. Its
// credentials stay valid, too, except for client certificates. If the file does not exist, it is
// created so that only its owner can read it: it contains the cluster's token and its Secrets. The
// file may be one that Cluster.Snapshot has written.
//
// It is an error if another running cluster uses the file, if it is not a data file or is a symbolic link, if
// it is empty, if a newer fakecluster has written it, or if it is damaged. An incomplete tail, from a power
// failure, is cut off; klog logs this, and the path of a copy of the tail. A fork of the cluster is in memory
// only. With WithSnapshot, a new file begins with the snapshot. The file grows until more than half of it is
// history that the cluster has forgotten; then it is rewritten. If the disk is full, writes are answered with
// 500. If the file is deleted, moved or replaced while the cluster runs, all later writes are answered with
// 500, klog logs the reason, and Close returns an error.
//
// The option works on systems that can lock files: Linux, macOS, the BSDs. It can be given once.
//
// Default: the cluster is in memory and gone with the process.
func WithDataFile(path string, fsync Fsync) Option {
	return once("WithDataFile", func(s *settings) { s.dataFile = &dataFile{path, fsync} })
}

// Snapshot writes the present state of the cluster, with its history, for WithSnapshot and
// WithDataFile. Requests are held up only for a moment; later writes are not in the snapshot. It
// contains all Secrets, and the key that signs tokens of ServiceAccounts if there are any tokens, but
// not the credentials of RESTConfig and ConfigFor. It fails if the cluster is closed, or if the
// writer fails.
func (c *Cluster) Snapshot(w io.Writer) error {
	if w == nil {
		return errors.New("Snapshot: the writer is nil")
	}
	snap, err := c.store.Snapshot()
	if err == nil {
		metadata := fileMetadata{Kubernetes: kubernetesVersion()}
		if metadata.AccountKey, err = c.keptKey(); err == nil {
			err = snap.Write(w, metadata.String())
		}
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// fileMetadata is the metadata of a data file or a snapshot.
type fileMetadata struct {
	// Kubernetes is the version of Kubernetes whose fakecluster wrote the objects, such as 1.37.
	Kubernetes string `json:"kubernetes"`
	// Token is the token of the cluster; a snapshot has none.
	Token string `json:"token,omitempty"`
	// AccountKey is the key that signs tokens of service accounts, as PKCS #8, unless it comes from
	// the options.
	AccountKey []byte `json:"accountKey,omitempty"`
}

// String returns the text that a store keeps.
func (m fileMetadata) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and bytes can be encoded
	}
	return string(text)
}

// kubernetesVersion returns the version of the libraries, which read the objects also if the process is of an older release.
func kubernetesVersion() string { return release.Newest().String() }

// readMetadata decodes the metadata of a file or a snapshot. It rejects a newer version of Kubernetes, which may
// have stored objects in versions that this one does not have.
func readMetadata(text string) (m fileMetadata, err error) {
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, errors.New("the data is not that of a cluster; write it with Snapshot, or fakecluster snapshot")
	}
	var major, minor uint
	if _, err := fmt.Sscanf(m.Kubernetes, "%d.%d", &major, &minor); err != nil {
		return m, errors.New("the data is not that of a cluster; write it with Snapshot, or fakecluster snapshot")
	}
	if version.MajorMinor(major, minor).GreaterThan(release.Newest()) {
		return m, fmt.Errorf("a fakecluster of Kubernetes %s wrote it, and this one is of %s: use a fakecluster of %[1]s or newer", m.Kubernetes, kubernetesVersion())
	}
	return m, nil
}

// openStore opens the store of the cluster, and finds its credentials.
func (c *Cluster) openStore() error {
	s := &c.settings
	var from *store.Snapshot
	var kept fileMetadata
	if s.given["WithSnapshot"] > 0 {
		if s.snapshot == nil {
			return errors.New("WithSnapshot: the reader is nil")
		}
		var err error
		if from, err = store.ReadSnapshot(s.snapshot); err == nil {
			kept, err = readMetadata(from.Meta())
		}
		if err != nil {
			return fmt.Errorf("WithSnapshot: %w", err)
		}
		kept.Token = "" // one from a data file is that of another cluster
		from = from.WithMeta(kept.String())
	}
	var err error
	switch {
	case s.dataFile != nil:
		if c.store, kept, err = s.dataFile.open(s.history, from, kept); err != nil {
			return fmt.Errorf("WithDataFile: %w", err)
		}
	case from != nil:
		c.store, err = store.Load(from, s.history)
	default:
		c.store, err = store.Open(s.history)
	}
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	c.resumed = c.store.Revision() > store.FirstRevision
	if err := c.adopt(kept); err != nil {
		return errors.Join(err, c.store.Close())
	}
	return nil
}

// adopt sets the token and the key of a snapshot or a data file, and makes a token if there is none.
func (c *Cluster) adopt(kept fileMetadata) (err error) {
	if c.token = kept.Token; c.token == "" {
		if c.token, err = newToken(); err != nil {
			return err
		}
	}
	if kept.AccountKey != nil {
		key, err := x509.ParsePKCS8PrivateKey(kept.AccountKey)
		ours, ok := key.(*ecdsa.PrivateKey)
		if err != nil || !ok {
			return errors.New("the snapshot or data file is damaged: the key of service account tokens cannot be read; write it again")
		}
		c.accountKey = ours
	}
	return nil
}

func newToken() (string, error) {
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	return hex.EncodeToString(token), nil
}

// open opens the file, and writes the credentials of the cluster into it.
func (f *dataFile) open(history store.Options, from *store.Snapshot, kept fileMetadata) (*store.Store, fileMetadata, error) {
	o := store.FileOptions{From: from, Report: func(err error) { klog.Error(err) }}
	switch f.fsync {
	case "", FsyncAlways:
	case FsyncEverySecond:
		o.Sync = store.SyncEverySecond
	default:
		return nil, kept, fmt.Errorf("unknown value %q for syncing; write %s or %s", f.fsync, FsyncAlways, FsyncEverySecond)
	}
	s, err := store.OpenFile(f.path, history, o)
	if err != nil {
		return nil, kept, err
	}
	kept, err = f.completeMetadata(s)
	if err != nil {
		return nil, kept, errors.Join(fmt.Errorf("data file %s: %w", f.path, err), s.Close())
	}
	return s, kept, nil
}

// completeMetadata returns the metadata of the file, after it has added what was missing: the version, the token and the
// key.
func (f *dataFile) completeMetadata(s *store.Store) (described fileMetadata, err error) {
	kept := s.Meta()
	if kept != "" || s.Revision() > store.FirstRevision {
		if described, err = readMetadata(kept); err != nil {
			return described, err
		}
	}
	described.Kubernetes = kubernetesVersion()
	if described.Token == "" {
		if described.Token, err = newToken(); err != nil {
			return described, err
		}
	}
	if described.AccountKey == nil {
		key, err := authentication.NewAccountKey()
		if err != nil {
			return described, err
		}
		if described.AccountKey, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
			return described, err
		}
	}
	if now := described.String(); now != kept {
		err = s.SetMeta(now)
	}
	return described, err
}

// keptKey returns the key for a snapshot, so that a cluster of the snapshot accepts the existing tokens of
// service accounts. It is nil if there are no tokens, or if the key comes from the options.
func (c *Cluster) keptKey() ([]byte, error) {
	switch made := c.server.Tokens.MadeKey(); {
	case c.settings.flags.Accounts.SigningKey != nil:
		return nil, nil
	case c.accountKey != nil:
		return x509.MarshalPKCS8PrivateKey(c.accountKey)
	case made != nil:
		return x509.MarshalPKCS8PrivateKey(made)
	default:
		return nil, nil
	}
}
