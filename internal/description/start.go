package description

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Options returns the options of package fakecluster for the cluster. It reads the snapshot, and calls build
// for each kustomization. It fails if the snapshot cannot be read, if build fails, or if fields exclude each
// other. build may be nil if there are no kustomizations, so that scenario files do not need package
// kustomize, which is large.
func (c Cluster) Options(build func(folder string) ([]runtime.Object, error)) ([]fakecluster.Option, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var options []fakecluster.Option
	add := func(given bool, option func() fakecluster.Option) {
		if given {
			options = append(options, option())
		}
	}
	add(len(c.CRDPaths) > 0, func() fakecluster.Option { return fakecluster.WithCRDPaths(c.CRDPaths...) })
	add(len(c.Manifests) > 0, func() fakecluster.Option { return fakecluster.WithManifests(c.Manifests...) })
	add(len(c.WithAdmissionPlugins) > 0, func() fakecluster.Option { return fakecluster.WithAdmissionPlugins(c.WithAdmissionPlugins...) })
	add(len(c.WithoutAdmissionPlugins) > 0, func() fakecluster.Option { return fakecluster.WithoutAdmissionPlugins(c.WithoutAdmissionPlugins...) })
	add(len(c.RuntimeConfig) > 0, func() fakecluster.Option { return fakecluster.WithRuntimeConfig(c.RuntimeConfig...) })
	add(len(c.WebhookPaths) > 0, func() fakecluster.Option { return fakecluster.WithWebhookPaths(c.WebhookPaths...) })
	add(len(c.APIServerFlags) > 0, func() fakecluster.Option { return fakecluster.WithAPIServerFlags(c.APIServerFlags...) })
	add(c.Controllers != nil, c.controllers)
	add(c.Authorization != "", func() fakecluster.Option {
		return fakecluster.WithAuthorization(fakecluster.Authorization(c.Authorization))
	})
	add(c.WithoutNamespaceLifecycle, fakecluster.WithoutNamespaceLifecycle)
	add(c.LegacyAPIs, fakecluster.WithLegacyAPIs)
	add(c.TLS, fakecluster.WithTLS)
	add(c.Seed != nil, func() fakecluster.Option { return fakecluster.WithSeed(*c.Seed) })
	add(c.Audit != "", func() fakecluster.Option { return fakecluster.WithAudit(auditv1.Level(c.Audit)) })
	add(c.Port != nil, func() fakecluster.Option { return fakecluster.WithPort(*c.Port) })
	add(c.CompactionInterval != nil, func() fakecluster.Option { return fakecluster.WithCompactionInterval(c.CompactionInterval.Duration) })
	add(c.WatchHistoryRevisions != 0 || c.WatchHistoryBytes != 0, func() fakecluster.Option {
		return fakecluster.WithWatchHistory(c.WatchHistoryRevisions, c.WatchHistoryBytes)
	})
	add(c.DataFile != "", func() fakecluster.Option { return fakecluster.WithDataFile(c.DataFile, fakecluster.Fsync(c.Fsync)) })
	for _, folder := range c.Kustomize {
		objects, err := build(folder)
		if err != nil {
			return nil, err
		}
		options = append(options, fakecluster.WithObjects(objects...))
	}
	snapshot, err := c.snapshot()
	add(snapshot != nil, func() fakecluster.Option { return fakecluster.WithSnapshot(bytes.NewReader(snapshot)) })
	return options, err
}

func (c Cluster) controllers() fakecluster.Option {
	var acting []fakecluster.Controller
	for _, name := range c.Controllers {
		if name == "*" {
			acting = append(acting, fakecluster.AllControllers()...)
		} else {
			acting = append(acting, fakecluster.Controller(name))
		}
	}
	return fakecluster.WithControllers(acting...)
}

// snapshot returns the snapshot with which the cluster begins, or nil.
func (c Cluster) snapshot() ([]byte, error) {
	switch {
	case c.Snapshot != "":
		return readSnapshot(c.Snapshot)
	case c.SnapshotData != "":
		content, err := base64.StdEncoding.DecodeString(c.SnapshotData)
		if err != nil {
			return nil, errors.New("snapshotData is not base64: encode the answer of GET /v1/clusters/CLUSTER/snapshot")
		}
		return content, nil
	}
	return nil, nil
}

// readSnapshot reads a snapshot from a regular file. It rejects devices, which may have no end, and FIFOs, which may
// block.
func readSnapshot(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the snapshot %s is not a regular file; write one with fakecluster snapshot", path)
	}
	return os.ReadFile(path)
}

// check returns an error for fields that exclude each other.
func (c Cluster) check() error {
	if c.Snapshot != "" && c.SnapshotData != "" {
		return errors.New("snapshot and snapshotData exclude each other; give one of them")
	}
	if c.Fsync != "" && c.DataFile == "" {
		return errors.New("fsync needs dataFile: give the path of the file, too")
	}
	return nil
}

// Paths returns the paths in the description.
func (c Cluster) Paths() (paths []string) {
	for _, o := range Options() {
		if !o.isPath {
			continue
		}
		switch value := o.Value(&c).(type) {
		case *[]string:
			paths = append(paths, *value...)
		case *string:
			if *value != "" {
				paths = append(paths, *value)
			}
		}
	}
	return paths
}
