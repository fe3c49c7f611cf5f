package benchmarks

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// beside measures what operation returns at each peer, which has the given number
// of objects.
func beside(b *testing.B, existing int, operation func(*testing.B, objects) func() error) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			o, stop := p.start(b)
			b.Cleanup(stop)
			for n := range existing {
				if err := o.create(b.Context(), newCronTab(n)); err != nil {
					b.Fatal(err)
				}
			}
			do := operation(b, o)
			for b.Loop() {
				err := do()
				if errors.Is(err, errors.ErrUnsupported) {
					b.Skip("it has none")
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStart is from nothing until CronTabs have been listed. What is made once
// in a process is not in it: definitions, too, are compiled once.
func BenchmarkStart(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				o, stop := p.start(b)
				if _, err := o.list(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stop()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	beside(b, 1, func(b *testing.B, o objects) func() error {
		return func() error {
			_, err := o.get(b.Context(), nameOf(0))
			return err
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	beside(b, 1, func(b *testing.B, o objects) func() error {
		n := 0
		return func() error {
			n++
			return o.create(b.Context(), newCronTab(n))
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	beside(b, 1, func(b *testing.B, o objects) func() error {
		current, err := o.get(b.Context(), nameOf(0))
		if err != nil {
			b.Fatal(err)
		}
		n := int64(3)
		return func() (err error) {
			n++
			if err := unstructured.SetNestedField(current.Object, n, "spec", "replicas"); err != nil {
				return err
			}
			current, err = o.update(b.Context(), current)
			return err
		}
	})
}

func BenchmarkMergePatch(b *testing.B) {
	beside(b, 1, patching)
}

func patching(b *testing.B, o objects) func() error {
	n := 3
	return func() error {
		n++
		return o.mergePatch(b.Context(), nameOf(0), fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))
	}
}

func BenchmarkApply(b *testing.B) {
	beside(b, 1, func(b *testing.B, o objects) func() error {
		n := int64(3)
		return func() error {
			n++
			u := newCronTab(0)
			u.Object["spec"].(map[string]any)["replicas"] = n
			return o.apply(b.Context(), u)
		}
	})
}

func BenchmarkListOf1000(b *testing.B) {
	beside(b, 1000, func(b *testing.B, o objects) func() error {
		return func() error {
			n, err := o.list(b.Context())
			if err == nil && n != 1000 {
				err = fmt.Errorf("%d objects", n)
			}
			return err
		}
	})
}

// BenchmarkWatch is from a merge patch until a watcher has the change.
func BenchmarkWatch(b *testing.B) {
	beside(b, 1, func(b *testing.B, o objects) func() error {
		w, err := o.watch(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(w.Stop)
		patch := patching(b, o)
		return func() error {
			if err := patch(); err != nil {
				return err
			}
			for e := range w.ResultChan() {
				if e.Type == watch.Modified {
					return nil
				}
			}
			return errors.New("the watch has ended")
		}
	})
}

// Every peer can do what is measured.
func TestPeersDoWhatIsMeasured(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			o, stop := p.start(t)
			t.Cleanup(stop)
			if err := o.create(t.Context(), newCronTab(1)); err != nil {
				t.Fatal(err)
			}
			if err := o.mergePatch(t.Context(), nameOf(1), []byte(`{"spec":{"replicas":7}}`)); err != nil {
				t.Fatal(err)
			}
			u, err := o.get(t.Context(), nameOf(1))
			if err != nil {
				t.Fatal(err)
			}
			if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); n != 7 {
				t.Errorf("%d replicas after a patch to 7", n)
			}
			if n, err := o.list(t.Context()); n != 1 || err != nil {
				t.Errorf("a list has %d objects, %v", n, err)
			}
		})
	}
}
