package cri

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// behaviors are the behaviors of Programs. used marks those that have applied.
type behaviors struct {
	list     []Behavior
	services func(*corev1.Pod) []string
	mu       sync.Mutex
	used     []bool
}

func newBehaviors(list []Behavior, services func(*corev1.Pod) []string) (*behaviors, error) {
	var errs []error
	for i := range list {
		if err := list[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("the behavior of %s: %w", list[i], err))
		}
	}
	return &behaviors{list: slices.Clone(list), services: services, used: make([]bool, len(list))}, errors.Join(errs...)
}

// behaviorOf returns the behavior that applies to a container; nil: none does.
func (b *behaviors) behaviorOf(pod *corev1.Pod, spec *corev1.Container) *Behavior {
	for i := range b.list {
		if b.list[i].Matches(pod, spec, b.services) {
			b.mu.Lock()
			b.used[i] = true
			b.mu.Unlock()
			return &b.list[i]
		}
	}
	return nil
}

func (b *behaviors) unmatched() []Behavior {
	b.mu.Lock()
	defer b.mu.Unlock()
	var unmatched []Behavior
	for i, used := range b.used {
		if !used {
			unmatched = append(unmatched, b.list[i])
		}
	}
	return unmatched
}
