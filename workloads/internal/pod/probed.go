package pod

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
)

// probed counts the runs of a probe of a pod.
type probed struct {
	runs kubelet.Probes
	// skipped is the due time of the first run that is skipped because it passes; zero: none is skipped.
	skipped time.Time
	period  time.Duration
}

// passes returns the number of skipped runs that were due up to a time.
func (d *probed) passes(now time.Time) uint64 {
	if d.skipped.IsZero() || now.Before(d.skipped) {
		return 0
	}
	return 1 + uint64(now.Sub(d.skipped)/d.period)
}

// countProbe changes the counts of a probe of a pod.
func (p *Pod) countProbe(r *prober, change func(*probed)) {
	if p.termination.completed {
		return // the probes have ended, and their counts are dropped
	}
	probe := kubelet.Probe{Kind: r.kind.String(), Container: r.name, Pod: p.api.Name, Namespace: p.api.Namespace, UID: string(p.uid)}
	p.node.View.countProbe(r, p.uid, probe, change)
}

func (v *View) countProbe(r *prober, uid types.UID, probe kubelet.Probe, change func(*probed)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ofPod := v.probes[uid]
	if ofPod == nil {
		ofPod = map[kubelet.Probe]*probed{}
		v.probes[uid] = ofPod
	}
	d := ofPod[probe]
	if d == nil {
		d = &probed{runs: kubelet.Probes{Passed: kubelet.NewProbeDurations()}, period: r.period()}
		ofPod[probe] = d
	}
	change(d)
}

// beginSkipping records that runs are skipped from the next due one on, because they pass.
func (r *prober) beginSkipping(p *Pod) {
	if r.skipping {
		return
	}
	r.skipping = true
	first := r.tick
	p.countProbe(r, func(d *probed) { d.skipped = first })
}

// countSkipped counts the runs that were skipped before a time.
func (r *prober) countSkipped(p *Pod, now time.Time) {
	if !r.skipping {
		return
	}
	r.skipping = false
	p.countProbe(r, func(d *probed) {
		d.runs.Passed.Observe(0, d.passes(now.Add(-1)))
		d.skipped = time.Time{}
	})
}

// Probes implements kubelet.Node.
func (v *View) Probes() map[kubelet.Probe]kubelet.Probes {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := map[kubelet.Probe]kubelet.Probes{}
	for _, probes := range v.probes {
		for probe, d := range probes {
			runs := d.runs
			runs.Passed = runs.Passed.Clone()
			runs.Passed.Observe(0, d.passes(now))
			counts[probe] = runs
		}
	}
	return counts
}

// forgetProbes removes the counts of a pod whose probes have ended.
func (v *View) forgetProbes(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.probes, uid)
}
