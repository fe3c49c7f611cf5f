package image

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const (
	// ReportPeriod is the interval at which a kubelet asks the container runtime for its images.
	ReportPeriod = 30 * time.Second
	// maxImages is the maximum of images that a kubelet reports by default, the largest first.
	maxImages = 50
	// maxNames is the maximum of names that it reports for each.
	maxNames = 5
)

// A Store has the images that are on a node. Its methods are safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	byName   map[string]*corev1.ContainerImage // by each name, with registry and tag
	reported []corev1.ContainerImage           // immutable
}

// NewStore returns the initial images of a node.
func NewStore(given []corev1.ContainerImage) *Store {
	i := &Store{byName: map[string]*corev1.ContainerImage{}}
	i.TakeOver(given)
	i.Report()
	return i
}

// TakeOver adds images that a former agent has reported.
func (i *Store) TakeOver(given []corev1.ContainerImage) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, image := range given {
		for _, name := range image.Names {
			i.byName[Name(name)] = &image
		}
	}
}

// Has reports whether an image is on the node. The name may lack the registry and the tag.
func (i *Store) Has(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byName[Name(name)] != nil
}

// Add adds an image that was pulled or that a container uses.
func (i *Store) Add(name string) {
	full, digested := Name(name), Ref(name)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byName[full] != nil {
		return
	}
	image := &corev1.ContainerImage{Names: []string{digested}, SizeBytes: int64(Size(name))}
	if full != digested {
		image.Names = append(image.Names, full)
	}
	for _, n := range image.Names {
		i.byName[n] = image
	}
}

// Report updates the images that the node reports, and reports whether they have changed.
func (i *Store) Report() (changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	seen := map[*corev1.ContainerImage]bool{}
	var list []corev1.ContainerImage
	for _, image := range i.byName {
		if seen[image] {
			continue
		}
		seen[image] = true
		reported := *image
		reported.Names = slices.Clone(reported.Names[:min(len(reported.Names), maxNames)])
		list = append(list, reported)
	}
	slices.SortFunc(list, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), strings.Compare(b.Names[0], a.Names[0]))
	})
	list = list[:min(len(list), maxImages)]
	changed = !equality.Semantic.DeepEqual(list, i.reported)
	i.reported = list
	return changed
}

// Status returns the images in the status of the node.
func (i *Store) Status() []corev1.ContainerImage {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reported
}
