package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// payload are the files of a volume, by path.
type payload = map[string]volumeutil.FileProjection

// mountVolumes mounts the volumes of the pod, and reports whether all are mounted. It tries again with the delays of
// the kubelet's volume manager. Only pods with code have the contents at once; for others it checks that everything exists, and they come with
// the first look (look.go).
func (p *pod) mountVolumes(ctx context.Context, now time.Time) bool {
	if p.mounted {
		return true
	}
	if now.Before(p.mount.Time) {
		return false
	}
	if err := p.checkClaims(ctx); err != nil {
		p.node.events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume, "Unable to attach or mount volumes: %v", err)
		p.mount.Time = now.Add(timing.RetryPeriod)
		return false
	}
	failed, unattached := false, false
	mounts, devices := p.usedVolumes()
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		used := mounts.Has(v.Name) || devices.Has(v.Name)
		if (v.HostPath != nil || v.CSI != nil) && !used {
			continue
		}
		waits, err := p.checkPersistentVolume(ctx, v, now)
		if unattached = unattached || waits; waits {
			continue
		}
		if err == nil {
			if err = p.mountVolume(ctx, v, now); err != nil {
				err = &mountError{"MountVolume.SetUp", v.Name, err}
			}
		}
		if err != nil && used { // what no container uses does not matter to a kubelet
			failed = true
			p.node.events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume, "%v", err)
		}
	}
	if failed {
		p.mount.Failed(now, 500*time.Millisecond, 2*time.Minute+2*time.Second)
	}
	if unattached && !failed {
		p.mount.Time = p.nextAttach(now)
	}
	if failed || unattached {
		return false
	}
	p.mounted, p.mount = true, timing.Retry{}
	if p.hasCode() {
		p.followSources()
	}
	return true
}

// followSources has the volumes brought up to date when their sources change.
func (p *pod) followSources() {
	if keys := sources(p.api); len(keys) > 0 {
		p.node.mu.Lock()
		p.node.mounts[p.api.UID] = volumeSource{p.api.Namespace, keys}
		p.node.mu.Unlock()
	}
}

// mountVolume mounts a volume, or brings one that is mounted up to date.
func (p *pod) mountVolume(ctx context.Context, v *corev1.Volume, now time.Time) error {
	if v.CSI != nil {
		if err := p.checkDriver(ctx, v.CSI.Driver); err != nil {
			return err
		}
	}
	if v.HostPath != nil {
		if _, err := p.node.hostPath(v.HostPath); err != nil {
			return err
		}
	}
	if err := checkHugePages(p.api, v.EmptyDir); err != nil {
		return err
	}
	content, err := p.payload(ctx, v, now)
	if err != nil || !p.hasCode() {
		return err
	}
	p.share(content)
	if content == nil {
		if p.volumes[v.Name] == nil {
			p.volumes[v.Name], err = p.tree(ctx, v)
		}
		return err
	}
	if p.volumes[v.Name] == nil {
		p.volumes[v.Name] = p.newVolume()
	}
	if before, ok := p.payloads[v.Name]; ok && maps.EqualFunc(before, content, sameFile) {
		return nil
	}
	p.payloads[v.Name] = content
	return p.volumes[v.Name].Replace(p.filesOf(content, ""))
}

func sameFile(a, b volumeutil.FileProjection) bool {
	return string(a.Data) == string(b.Data) && a.Mode == b.Mode
}

// filesOf returns the files of a volume below a path.
func (p *pod) filesOf(content payload, below string) map[string]files.File {
	merged := map[string]files.File{}
	for name, file := range content {
		if below != "" {
			var inside bool
			if name == below {
				name = "."
			} else if name, inside = strings.CutPrefix(name, below+"/"); !inside {
				continue
			}
		}
		merged[name] = files.File{Data: file.Data, Mode: fs.FileMode(file.Mode).Perm(), Owner: p.ownerOf(file)}
	}
	return merged
}

// payload returns the files of a volume whose content comes from the API, and nil for other volumes.
func (p *pod) payload(ctx context.Context, v *corev1.Volume, now time.Time) (payload, error) {
	switch {
	case v.ConfigMap != nil:
		return p.configMapFiles(ctx, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode, v.ConfigMap.Optional)
	case v.Secret != nil:
		return p.secretFiles(ctx, v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return p.downwardFiles(v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		return p.projectedFiles(ctx, v, now)
	}
	return nil, nil
}

func (p *pod) configMapFiles(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (payload, error) {
	object, err := p.configMap(ctx, name, optional)
	if err != nil {
		return nil, err
	}
	return configmap.MakePayload(items, object, mode, nil, ptr.Deref(optional, false))
}

func (p *pod) secretFiles(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (payload, error) {
	object, err := p.secret(ctx, name, optional)
	if err != nil {
		return nil, err
	}
	return secret.MakePayload(items, object, mode, nil, ptr.Deref(optional, false))
}

func (p *pod) downwardFiles(items []corev1.DownwardAPIVolumeFile, mode *int32) (payload, error) {
	return downwardapi.CollectData(items, p.api, volumeHost{allocatable: p.allocatable()}, mode, nil)
}

// volumeHost is the part of a volume.VolumeHost that downwardapi.CollectData calls.
type volumeHost struct {
	volume.VolumeHost
	allocatable corev1.ResourceList
}

func (h volumeHost) GetNodeAllocatable() (corev1.ResourceList, error) { return h.allocatable, nil }

func (p *pod) projectedFiles(ctx context.Context, v *corev1.Volume, now time.Time) (payload, error) {
	merged, mode := payload{}, v.Projected.DefaultMode
	var errs []error
	for i := range v.Projected.Sources {
		var content payload
		var err error
		switch s := &v.Projected.Sources[i]; {
		case s.ConfigMap != nil:
			content, err = p.configMapFiles(ctx, s.ConfigMap.Name, s.ConfigMap.Items, mode, s.ConfigMap.Optional)
		case s.Secret != nil:
			content, err = p.secretFiles(ctx, s.Secret.Name, s.Secret.Items, mode, s.Secret.Optional)
		case s.DownwardAPI != nil:
			content, err = p.downwardFiles(s.DownwardAPI.Items, mode)
		case s.ServiceAccountToken != nil && p.hasCode():
			content, err = p.tokenFile(ctx, s.ServiceAccountToken, mode, now)
		case s.ClusterTrustBundle != nil:
			content, err = p.trustBundleFile(ctx, s.ClusterTrustBundle, mode)
		case s.PodCertificate != nil:
			content, err = p.certificateFiles(s.PodCertificate, certificateSource{v.Name, i}, mode)
		}
		if err != nil {
			errs = append(errs, err)
		}
		maps.Copy(merged, content)
	}
	return merged, utilerrors.NewAggregate(errs)
}

// token is a token of the pod's service account, which is renewed when four fifths of its life are over.
type token struct {
	text  string
	renew time.Time
}

func (p *pod) tokenFile(ctx context.Context, s *corev1.ServiceAccountTokenProjection, mode *int32, now time.Time) (payload, error) {
	key := fmt.Sprintf("%s/%d", s.Audience, ptr.Deref(s.ExpirationSeconds, 0))
	have, ok := p.tokens[key]
	if !ok || !now.Before(have.renew) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: s.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.api.Name, UID: p.api.UID},
		}}
		if s.Audience != "" {
			request.Spec.Audiences = []string{s.Audience}
		}
		answer, err := p.node.client.CoreV1().ServiceAccounts(p.api.Namespace).CreateToken(ctx, p.api.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("failed to fetch token: %w", err)
		}
		life := answer.Status.ExpirationTimestamp.Sub(now)
		have = token{text: answer.Status.Token, renew: now.Add(min(life*4/5, 24*time.Hour))}
		p.tokens[key] = have
	}
	p.refreshBy(have.renew)
	return payload{s.Path: p.credential([]byte(have.text), mode)}, nil
}

func (p *pod) trustBundleFile(ctx context.Context, s *corev1.ClusterTrustBundleProjection, mode *int32) (payload, error) {
	anchors, err := p.trustAnchors(ctx, s)
	if err != nil {
		return nil, err
	}
	return payload{s.Path: p.credential(anchors, mode)}, nil
}

// refreshBy has the volumes brought up to date at a time at the latest.
func (p *pod) refreshBy(due time.Time) {
	if p.refresh.IsZero() || due.Before(p.refresh) {
		p.refresh = due
	}
}

// refreshVolumes brings volumes up to date whose sources have changed. A failure leaves them as they are.
func (p *pod) refreshVolumes(ctx context.Context, now time.Time) {
	if p.refresh.IsZero() || now.Before(p.refresh) && !(p.stale && p.dirty) || !p.mounted {
		return
	}
	p.refresh, p.stale = time.Time{}, false
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if p.payloads[v.Name] == nil {
			continue
		}
		if err := p.mountVolume(ctx, v, now); err != nil {
			p.node.events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume,
				"MountVolume.SetUp failed for volume %q : %v", v.Name, err)
			p.refreshBy(now.Add(timing.ResyncPeriod))
		}
	}
}

// tree returns the files of a volume whose content does not come from the API.
func (p *pod) tree(ctx context.Context, v *corev1.Volume) (*files.Tree, error) {
	switch {
	case v.EmptyDir != nil:
		return p.emptyDir(v), nil
	case v.PersistentVolumeClaim != nil:
		return p.claim(ctx, v.Name, v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly)
	case v.Ephemeral != nil:
		return p.claim(ctx, v.Name, p.api.Name+"-"+v.Name, false)
	case v.Image != nil:
		tree := p.node.agent.config.Programs.FilesOf(v.Image.Reference)
		p.trees = append(p.trees, tree)
		return tree, nil
	case v.HostPath != nil:
		return p.node.hostPath(v.HostPath)
	case v.CSI != nil:
		return p.newVolume(), nil // what a driver would write is not known
	}
	return nil, errors.New("no volume plugin matched: fakecluster has configMap, secret, downwardAPI, projected, emptyDir, hostPath, csi, image, ephemeral and persistentVolumeClaim")
}

// newTree returns a tree that ends with the pod.
func (p *pod) newTree() *files.Tree {
	t := files.NewTree()
	p.trees = append(p.trees, t)
	return t
}

// unmount removes the folders of the volumes that end with the pod.
func (p *pod) unmount() {
	for _, tree := range p.trees {
		if err := tree.Close(); err != nil {
			p.node.agent.config.Report(fmt.Errorf("the volumes of pod %s: %w", p.key(), err))
		}
	}
	p.trees = nil
}

// configMap reads a ConfigMap of the pod's namespace. One that is optional and does not exist is empty.
func (p *pod) configMap(ctx context.Context, name string, optional *bool) (*corev1.ConfigMap, error) {
	object, err := p.node.client.CoreV1().ConfigMaps(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err = plain(err, "configmap", name); err != nil {
		object = &corev1.ConfigMap{}
		if isMissing(err) && ptr.Deref(optional, false) {
			err = nil
		}
	}
	return object, err
}

// secret is as configMap.
func (p *pod) secret(ctx context.Context, name string, optional *bool) (*corev1.Secret, error) {
	object, err := p.node.client.CoreV1().Secrets(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err = plain(err, "secret", name); err != nil {
		object = &corev1.Secret{}
		if isMissing(err) && ptr.Deref(optional, false) {
			err = nil
		}
	}
	return object, err
}

// hasCode reports whether a container of the pod has code, or somebody has looked into one, so that volumes need contents.
func (p *pod) hasCode() bool {
	has := p.seenInto
	if has {
		return true
	}
	podutil.VisitContainers(&p.api.Spec, podutil.AllContainers, func(c *corev1.Container, _ podutil.ContainerType) bool {
		has = p.node.agent.config.Programs.HasCode(p.api, c)
		return !has
	})
	return has
}

// outdate has the volumes brought up to date with the next sync of the pod, because their sources have changed. Without an event it comes a
// minute after the last one.
func (p *pod) outdate(now time.Time) {
	p.stale = true
	p.refreshBy(now.Add(timing.ResyncPeriod - now.Sub(p.synced)%timing.ResyncPeriod))
}

// volumes are the volumes that outlive pods, by what they are.
type volumes struct {
	mu    sync.Mutex
	trees map[string]*files.Tree
}

// treeOf returns a volume.
func (v *volumes) treeOf(key string) *files.Tree {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.trees == nil {
		v.trees = map[string]*files.Tree{}
	}
	if v.trees[key] == nil {
		v.trees[key] = files.NewTree()
	}
	return v.trees[key]
}

func (v *volumes) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, tree := range v.trees {
		errs = append(errs, tree.Close())
	}
	return errors.Join(errs...)
}
