package volumes

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// sources returns the sources of the pod's volumes, as "configmap/name", "secret/name" and "trustbundle".
func sources(pod *corev1.Pod) []string {
	found := sets.Set[string]{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil {
			found.Insert("configmap/" + v.ConfigMap.Name)
		}
		if v.Secret != nil {
			found.Insert("secret/" + v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			switch {
			case s.ConfigMap != nil:
				found.Insert("configmap/" + s.ConfigMap.Name)
			case s.Secret != nil:
				found.Insert("secret/" + s.Secret.Name)
			case s.ClusterTrustBundle != nil:
				found.Insert("trustbundle")
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Sources has the objects from which the files of pods' volumes come. Its methods are safe for concurrent use.
type Sources struct {
	mu   sync.Mutex
	pods map[types.UID]source
}

// source has the sources of a pod's volumes.
type source struct {
	namespace string
	keys      []string
}

func (s *Sources) follow(uid types.UID, namespace string, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods == nil {
		s.pods = map[types.UID]source{}
	}
	s.pods[uid] = source{namespace, keys}
}

// Affected returns the pods whose volumes have files of an object, by its namespace and its key: "configmap/name", "secret/name" or "trustbundle".
func (s *Sources) Affected(namespace, key string) []types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var affected []types.UID
	for uid, from := range s.pods {
		if (namespace == "" || namespace == from.namespace) && slices.Contains(from.keys, key) {
			affected = append(affected, uid)
		}
	}
	slices.Sort(affected)
	return affected
}

// Forget removes a pod.
func (s *Sources) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}
