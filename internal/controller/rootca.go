package controller

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

var configMaps = kind{"", "configmaps"}

// The name and content of the ConfigMap with the certificate of the cluster's authority.
const (
	rootCAName        = "kube-root-ca.crt"
	rootCAFile        = "ca.crt"
	description       = "kubernetes.io/description"
	rootCADescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// rootCA publishes the certificate of the cluster's authority in a ConfigMap in each namespace, and restores it when a
// client changes or deletes it.
func rootCA() *controller {
	return &controller{
		identity: ServiceAccount("root-ca-cert-publisher"),
		follows: []followed{
			{kind: namespaces, begins: true, concerns: func(s *step, c change) error {
				ns, err := after[*corev1.Namespace](c)
				if err == nil && ns != nil && (c.created() || ns.Status.Phase == corev1.NamespaceActive) {
					s.enqueue(key{name: ns.Name})
				}
				return err
			}},
			{kind: configMaps, concerns: func(s *step, c change) error {
				if c.Name == rootCAName && !c.created() {
					s.enqueue(key{name: c.Namespace})
				}
				return nil
			}},
		},
		sync: func(s *step, k key) error {
			authority, err := authentication.OfProcess()
			if err != nil {
				return err
			}
			data := map[string]string{rootCAFile: string(authority.PEM())}
			current, err := find[*corev1.ConfigMap](s, configMaps, k.name, rootCAName)
			if err != nil {
				return err
			}
			if current == nil {
				err := s.create(configMaps, k.name, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: rootCAName, Namespace: k.name, Annotations: map[string]string{description: rootCADescription}},
					Data:       data,
				})
				if apierrors.IsNotFound(err) || isTerminating(err) {
					return nil
				}
				return err
			}
			if maps.Equal(current.Data, data) && current.Annotations[description] != "" {
				return nil
			}
			mended := current.DeepCopy()
			mended.Data = data
			metav1.SetMetaDataAnnotation(&mended.ObjectMeta, description, rootCADescription)
			return s.update(configMaps, mended, "")
		},
	}
}
