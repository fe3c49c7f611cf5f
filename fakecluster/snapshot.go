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
	"strconv"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/store"
)

// WithSnapshot begins with a cluster that Cluster.Snapshot has written: with its objects, their uids
// and resourceVersions, its definitions and its history. A watch may begin at a resourceVersion from
// before the snapshot, and a list go on with a continue token; what the history had forgotten is
// answered with 410. Tokens that ServiceAccounts were issued in the cluster are good in this one, as
// far as their time has not come. So a cluster that is prepared once can be a fixture in testdata:
//
//	file, err := os.Open("testdata/prepared.snapshot")
//	…
//	c := fakecluster.Start(t, fakecluster.WithSnapshot(file))
//
// Credentials of RESTConfig, ConfigFor and their kin are new ones, and options are not in a snapshot:
// give the same ones again. What they install is installed once more where it has to know this process:
// definitions, webhook configurations and APIServices replace those of the same name. Any other object
// of WithManifests and WithObjects is created if it is not there, and stays as it is otherwise.
//
// The reader is read to its end. It is an error if it does not have a whole snapshot, or one of a newer
// fakecluster. The option can be given once.
//
// Default: a new cluster.
func WithSnapshot(r io.Reader) Option {
	return once("WithSnapshot", func(s *settings) { s.snapshot = r })
}

// Fsync says when a write to a data file is on the disk for certain, so that it survives a machine
// without power. It survives the end of the process either way, also one by SIGKILL.
type Fsync string

const (
	// FsyncAlways has each request wait until what it writes is on the disk. It is the default.
	FsyncAlways Fsync = "always"
	// FsyncEverySecond has it be on the disk a second later. It is much faster.
	FsyncEverySecond Fsync = "second"
)

// dataFile is what WithDataFile says.
type dataFile struct {
	path  string
	fsync Fsync
}

// WithDataFile keeps the cluster in a file. Each write is in the file before its request is answered,
// and the next cluster with the same file goes on from there, as WithSnapshot describes it. Its
// credentials stay good too, but for client certificates. If the file does not exist it is made, for its owner alone to
// read: it has the cluster's token and its Secrets in it. A file that Cluster.Snapshot has written
// may be gone on with.
//
// It is an error if a cluster that runs has the file, if it is something else or a symbolic link, if
// a newer fakecluster has written it, or if it is damaged. A tail that was not complete when the power
// failed is cut off. A fork of the cluster is in memory only. With WithSnapshot, a file that is
// new begins with the snapshot. The file grows until more than half of it is about the past that the
// cluster has forgotten; then it is written anew. If the disk is full, writes are answered with 500.
//
// The option works on systems that can lock files: Linux, macOS, the BSDs. It can be given once.
//
// Default: the cluster is in memory and gone with the process.
func WithDataFile(path string, fsync Fsync) Option {
	return once("WithDataFile", func(s *settings) { s.dataFile = &dataFile{path, fsync} })
}

// Snapshot writes the cluster as it is now, with its history, for WithSnapshot and WithDataFile to begin
// with. Requests go on meanwhile, but for a moment, and are not in it. It has all Secrets, and the key that
// tokens of ServiceAccounts are signed with if there are any, but no credentials of RESTConfig and
// ConfigFor. It fails if the cluster is closed, or if the writer fails.
func (c *Cluster) Snapshot(w io.Writer) error {
	snap, err := c.store.Snapshot()
	if err == nil {
		about := about{Kubernetes: kubernetesVersion()}
		if about.AccountKey, err = c.keptKey(); err == nil {
			err = snap.Write(w, about.String())
		}
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// about is what a data file or a snapshot says beside the objects.
type about struct {
	// Kubernetes is the version that the objects are of, as 1.37.
	Kubernetes string `json:"kubernetes"`
	// Token is that of the cluster; a snapshot has none.
	Token string `json:"token,omitempty"`
	// AccountKey is the key that tokens of service accounts are signed with, unless the options say
	// which one, as PKCS #8.
	AccountKey []byte `json:"accountKey,omitempty"`
}

// String returns how a store keeps it.
func (a about) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and bytes can be encoded
	}
	return string(text)
}

func kubernetesVersion() string { return discovery.Version.Major + "." + discovery.Version.Minor }

// readAbout reads what a file or a snapshot says of a cluster. A newer version of Kubernetes may have
// stored objects in versions that this one does not know.
func readAbout(text string) (a about, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, errors.New("there is data in it, but none of a cluster")
	}
	var major, minor int
	if _, err := fmt.Sscanf(a.Kubernetes, "%d.%d", &major, &minor); err != nil {
		return a, errors.New("there is data in it, but none of a cluster")
	}
	ownMajor, _ := strconv.Atoi(discovery.Version.Major)
	ownMinor, _ := strconv.Atoi(discovery.Version.Minor)
	if major > ownMajor || major == ownMajor && minor > ownMinor {
		return a, fmt.Errorf("the cluster in it is of Kubernetes %s; this fakecluster is of %s", a.Kubernetes, kubernetesVersion())
	}
	return a, nil
}

// openStore opens the store of the cluster, and finds its credentials.
func (c *Cluster) openStore() error {
	s := &c.settings
	var from *store.Snapshot
	var is about
	if s.given["WithSnapshot"] > 0 {
		if s.snapshot == nil {
			return errors.New("WithSnapshot: the reader is nil")
		}
		var err error
		if from, err = store.ReadSnapshot(s.snapshot); err == nil {
			is, err = readAbout(from.Meta())
		}
		if err != nil {
			return fmt.Errorf("WithSnapshot: %w", err)
		}
		is.Token = "" // one from a data file is that of another cluster
		from = from.WithMeta(is.String())
	}
	var err error
	switch {
	case s.dataFile != nil:
		if c.store, is, err = s.dataFile.open(s.history, from, is); err != nil {
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
	c.goesOn = c.store.Revision() > store.FirstRevision
	if err := c.know(is); err != nil {
		return errors.Join(err, c.store.Close())
	}
	return nil
}

// know takes over what the cluster had before, and makes what it did not have.
func (c *Cluster) know(is about) (err error) {
	if c.token = is.Token; c.token == "" {
		if c.token, err = newToken(); err != nil {
			return err
		}
	}
	if is.AccountKey != nil {
		key, err := x509.ParsePKCS8PrivateKey(is.AccountKey)
		ours, ok := key.(*ecdsa.PrivateKey)
		if err != nil || !ok {
			return errors.New("the key of service account tokens is damaged")
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

// open opens the file, and has it keep the credentials of the cluster.
func (f *dataFile) open(history store.Options, from *store.Snapshot, is about) (*store.Store, about, error) {
	o := store.FileOptions{From: from}
	switch f.fsync {
	case "", FsyncAlways:
	case FsyncEverySecond:
		o.Sync = store.SyncEverySecond
	default:
		return nil, is, fmt.Errorf("there is no way %q of syncing; there are %s and %s", f.fsync, FsyncAlways, FsyncEverySecond)
	}
	s, err := store.OpenFile(f.path, history, o)
	if err != nil {
		return nil, is, err
	}
	is, err = f.about(s)
	if err != nil {
		return nil, is, errors.Join(fmt.Errorf("data file %s: %w", f.path, err), s.Close())
	}
	return s, is, nil
}

// about returns what the file says, with what it has to say and did not.
func (f *dataFile) about(s *store.Store) (is about, err error) {
	kept := s.Meta()
	if kept != "" || s.Revision() > store.FirstRevision {
		if is, err = readAbout(kept); err != nil {
			return is, err
		}
	}
	is.Kubernetes = kubernetesVersion()
	if is.Token == "" {
		if is.Token, err = newToken(); err != nil {
			return is, err
		}
	}
	if is.AccountKey == nil {
		key, err := auth.NewAccountKey()
		if err != nil {
			return is, err
		}
		if is.AccountKey, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
			return is, err
		}
	}
	if now := is.String(); now != kept {
		err = s.SetMeta(now)
	}
	return is, err
}

// keptKey returns the key that has to be known for tokens of service accounts to stay good; nil if there
// are none, or if the options say which key.
func (c *Cluster) keptKey() ([]byte, error) {
	switch made := c.server.AccountKey(); {
	case c.settings.flags.accounts.SigningKey != nil:
		return nil, nil
	case c.accountKey != nil:
		return x509.MarshalPKCS8PrivateKey(c.accountKey)
	case made != nil:
		return x509.MarshalPKCS8PrivateKey(made)
	default:
		return nil, nil
	}
}
