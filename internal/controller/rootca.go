package controller

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// rootCA publishes the certificate of the cluster's authority in a ConfigMap in each
// namespace, and restores it when somebody changes or deletes it.
func rootCA() *controller {
	return &controller{
		account: "root-ca-cert-publisher",
		follows: []followed{
			{kind: namespaces, begins: true, concerns: func(_ *step, c change, add func(namespace, name string)) error {
				ns, err := is[*corev1.Namespace](c)
				if err == nil && ns != nil && (c.created() || ns.Status.Phase == corev1.NamespaceActive) {
					add("", ns.Name)
				}
				return err
			}},
			{kind: configMaps, concerns: func(_ *step, c change, add func(namespace, name string)) error {
				if c.Name == rootCAName && !c.created() {
					add("", c.Namespace)
				}
				return nil
			}},
		},
		keep: func(s *step, key types.NamespacedName) error {
			ca, err := s.of.server.RootCA()
			if err != nil {
				return err
			}
			data := map[string]string{rootCAFile: string(ca)}
			current, err := find[*corev1.ConfigMap](s, configMaps, key.Name, rootCAName)
			if err != nil {
				return err
			}
			if current == nil {
				err := s.create(configMaps, key.Name, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: rootCAName, Namespace: key.Name, Annotations: map[string]string{description: rootCADescription}},
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
