package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// payload are the files of a volume, by path.
type payload = map[string]volumeutil.FileProjection

// mountVolume mounts a volume, or updates a mounted one.
func (p *Pod) mountVolume(ctx context.Context, v *corev1.Volume, now time.Time) error {
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
	if err != nil || !p.contents {
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
func (p *Pod) filesOf(content payload, below string) map[string]files.File {
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

// payload returns the files of a volume whose content comes from the API; nil for other volumes.
func (p *Pod) payload(ctx context.Context, v *corev1.Volume, now time.Time) (payload, error) {
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

func (p *Pod) configMapFiles(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (payload, error) {
	object, err := p.ConfigMap(ctx, name, optional)
	if err != nil {
		return nil, err
	}
	return configmap.MakePayload(items, object, mode, nil, ptr.Deref(optional, false))
}

func (p *Pod) secretFiles(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (payload, error) {
	object, err := p.Secret(ctx, name, optional)
	if err != nil {
		return nil, err
	}
	return secret.MakePayload(items, object, mode, nil, ptr.Deref(optional, false))
}

func (p *Pod) downwardFiles(items []corev1.DownwardAPIVolumeFile, mode *int32) (payload, error) {
	return downwardapi.CollectData(items, p.api, volumeHost{allocatable: p.Allocatable()}, mode, nil)
}

// volumeHost is the part of a volume.VolumeHost that downwardapi.CollectData calls.
type volumeHost struct {
	volume.VolumeHost
	allocatable corev1.ResourceList
}

func (h volumeHost) GetNodeAllocatable() (corev1.ResourceList, error) { return h.allocatable, nil }

func (p *Pod) projectedFiles(ctx context.Context, v *corev1.Volume, now time.Time) (payload, error) {
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
		case s.ServiceAccountToken != nil && p.contents:
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

// token is a token of the pod's service account. It is renewed after four fifths of its lifetime.
type token struct {
	text  string
	renew time.Time
}

func (p *Pod) tokenFile(ctx context.Context, s *corev1.ServiceAccountTokenProjection, mode *int32, now time.Time) (payload, error) {
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
		answer, err := p.node.config.Client.CoreV1().ServiceAccounts(p.api.Namespace).CreateToken(ctx, p.api.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("failed to fetch token: %w", err)
		}
		life := answer.Status.ExpirationTimestamp.Sub(now)
		have = token{text: answer.Status.Token, renew: now.Add(min(life*4/5, 24*time.Hour))}
		p.tokens[key] = have
	}
	p.RefreshBy(have.renew)
	return payload{s.Path: p.credential([]byte(have.text), mode)}, nil
}

func (p *Pod) trustBundleFile(ctx context.Context, s *corev1.ClusterTrustBundleProjection, mode *int32) (payload, error) {
	anchors, err := p.trustAnchors(ctx, s)
	if err != nil {
		return nil, err
	}
	return payload{s.Path: p.credential(anchors, mode)}, nil
}

// tree returns the files of a volume whose content does not come from the API.
func (p *Pod) tree(ctx context.Context, v *corev1.Volume) (*files.Tree, error) {
	switch {
	case v.EmptyDir != nil:
		return p.emptyDir(v), nil
	case v.PersistentVolumeClaim != nil:
		return p.claim(ctx, v.Name, v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly)
	case v.Ephemeral != nil:
		return p.claim(ctx, v.Name, p.api.Name+"-"+v.Name, false)
	case v.Image != nil:
		tree := p.node.config.Files(v.Image.Reference)
		p.trees = append(p.trees, tree)
		return tree, nil
	case v.HostPath != nil:
		return p.node.hostPath(v.HostPath)
	case v.CSI != nil:
		return p.newVolume(), nil // the content that a driver would write is unknown
	}
	return nil, errors.New("no volume plugin matched: fakecluster supports configMap, secret, downwardAPI, projected, emptyDir, hostPath, csi, image, ephemeral and persistentVolumeClaim")
}
