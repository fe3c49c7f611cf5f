package volumes

import (
	"context"
	"encoding/pem"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// trustAnchors returns the certificates of a ClusterTrustBundle, or of all bundles of a signer, each once.
func (p *Pod) trustAnchors(ctx context.Context, s *corev1.ClusterTrustBundleProjection) ([]byte, error) {
	bundles := p.node.config.Client.CertificatesV1().ClusterTrustBundles()
	optional := ptr.Deref(s.Optional, false)
	var found []certificatesv1.ClusterTrustBundle
	switch {
	case s.Name != nil:
		bundle, err := bundles.Get(ctx, *s.Name, metav1.GetOptions{})
		if err = Missing(err, "clustertrustbundle.certificates.k8s.io", *s.Name); isMissing(err) && optional {
			return []byte{}, nil
		} else if err != nil {
			return nil, fmt.Errorf("while getting ClusterTrustBundle: %w", err)
		}
		found = append(found, *bundle)
	case s.SignerName != nil:
		selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("while parsing label selector: %w", err)
		}
		if s.LabelSelector == nil {
			break // it selects nothing
		}
		list, err := bundles.List(ctx, metav1.ListOptions{LabelSelector: selector.String(), FieldSelector: "spec.signerName=" + *s.SignerName})
		if err != nil {
			return nil, fmt.Errorf("while listing ClusterTrustBundles matching label selector %v: %w", s.LabelSelector, err)
		}
		found = list.Items
	default:
		return nil, fmt.Errorf("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	if len(found) == 0 && !optional {
		return nil, fmt.Errorf("combination of signerName and labelSelector matched zero ClusterTrustBundles")
	}
	anchors := sets.Set[string]{}
	for i := range found {
		for block, rest := pem.Decode([]byte(found[i].Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			anchors.Insert(string(block.Bytes))
		}
	}
	content := []byte{}
	for _, anchor := range sets.List(anchors) {
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(anchor)})...)
	}
	return content, nil
}
