package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Random are histories that follow from seeds. A history says the same of both clusters although the scheduler chooses Nodes by
// chance: if something happens to Nodes, Pods are on a Node that is given, or one is on each Node. What goes on by itself after
// seconds, such as back-off, happens in the last step only, because the steps take longer in a real cluster.
func Random(seeds []uint64) []History {
	var made []History
	for _, seed := range seeds {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed}
		made = append(made, g.history())
	}
	return made
}

// generator makes a history.
type generator struct {
	*rand.Rand
	seed     uint64
	faults   bool // of Nodes
	steps    []Step
	apps     []app
	cordoned []string
	tainted  bool
}

// app is a workload that is there.
type app struct {
	kind, name string
	paused     bool
	spread     bool // one Pod on each Node
	budget     bool
	service    bool
}

func (g *generator) history() History {
	g.faults = g.IntN(3) == 0
	g.create()
	for range 2 + g.IntN(4) {
		g.next()
	}
	if g.IntN(3) == 0 {
		g.last()
	}
	return History{Name: fmt.Sprintf("seed %d", g.seed), Steps: g.steps, Seed: g.seed}
}

// healthy are images whose containers become ready.
var healthy = []string{"web", "web2", "web3", "slow"}

func (g *generator) add(s Step) { g.steps = append(g.steps, s) }

func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// create adds a workload.
func (g *generator) create() {
	a := app{kind: pick(g, "Deployment", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"), name: fmt.Sprintf("app%d", len(g.steps))}
	image, replicas := pick(g, "web", "web", "web2", "slow", "unready", "stubborn"), g.IntN(4)
	var changes []change
	if g.faults && a.kind != "DaemonSet" {
		if a.spread = a.kind != "Job" && g.IntN(2) == 0; a.spread {
			replicas = Nodes
			changes = append(changes, spread(a.name))
		} else {
			changes = append(changes, onNode(fmt.Sprintf("n%d", 1+g.IntN(Nodes))))
		}
	}
	if a.kind == "DaemonSet" {
		image = pick(g, healthy...) // on which Node a rollout stops would be a matter of chance
	}
	switch a.kind {
	case "Job":
		g.job(a.name, changes)
		return
	case "Deployment":
		if g.IntN(4) == 0 {
			changes = append(changes, set("{type: Recreate}", "spec", "strategy"))
		} else if g.IntN(3) == 0 {
			changes = append(changes, set(pick(g, "{maxSurge: 0, maxUnavailable: 1}", "{maxSurge: 2, maxUnavailable: 0}", "{maxSurge: 50%, maxUnavailable: 50%}"), "spec", "strategy", "rollingUpdate"))
		}
	case "StatefulSet":
		if g.IntN(2) == 0 {
			changes = append(changes, set("Parallel", "spec", "podManagementPolicy"))
		}
	case "DaemonSet":
		if g.IntN(3) == 0 {
			changes = append(changes, set(pick(g, "{type: OnDelete}", "{rollingUpdate: {maxUnavailable: 2}}"), "spec", "updateStrategy"))
		}
	}
	if g.IntN(4) == 0 {
		changes = append(changes, inPod(pick(g, "0", "1", "5"), "terminationGracePeriodSeconds"))
	}
	g.add(workload(a.kind, a.name, image, replicas, changes...))
	g.apps = append(g.apps, a)
}

// job adds a Job, which ends within the step unless it runs for ever.
func (g *generator) job(name string, changes []change) {
	image, completions := pick(g, "task", "task", "fail", "reject", "long"), 1+g.IntN(3)
	changes = append(changes, set(fmt.Sprint(completions), "spec", "completions"), set(fmt.Sprint(completions), "spec", "parallelism"))
	if g.IntN(2) == 0 {
		changes = append(changes, set("Indexed", "spec", "completionMode"))
	}
	if image != "long" {
		changes = append(changes, set("0", "spec", "backoffLimit"))
	}
	if image == "reject" {
		changes = append(changes, set("{rules: [{action: "+pick(g, "FailJob", "Count")+", onExitCodes: {operator: In, values: [42]}}]}", "spec", "podFailurePolicy"))
	}
	s := job(name, image, changes...)
	if image != "long" {
		s = s.until(jobEnds(name))
	}
	g.add(s)
	if image == "long" && g.IntN(2) == 0 {
		g.add(patch("Job", name, "{spec: {suspend: true}}"))
	}
}

// next adds a step that is possible.
func (g *generator) next() {
	if len(g.apps) == 0 || g.IntN(6) == 0 {
		g.create()
		return
	}
	if g.faults && g.IntN(2) == 0 {
		g.fault()
		return
	}
	i := g.IntN(len(g.apps))
	a := &g.apps[i]
	switch g.IntN(9) {
	case 0, 1:
		image := pick(g, append(healthy, "unready")...)
		if a.kind == "DaemonSet" {
			image = pick(g, healthy...)
		}
		if !a.spread { // where a Pod is missing would be a matter of chance
			g.add(setImage(a.kind, a.name, image))
		}
	case 2, 3:
		if a.kind != "DaemonSet" && !a.spread {
			g.add(scale(a.kind, a.name, g.IntN(5)))
		}
	case 4:
		n := 1 + g.IntN(3)
		if g.faults || a.kind == "DaemonSet" {
			n = 99 // the same on each Node
		}
		g.add(removePods(a.name, n))
	case 5:
		if a.kind == "Deployment" {
			a.paused = !a.paused
			g.add(patch(a.kind, a.name, fmt.Sprintf("{spec: {paused: %t}}", a.paused)))
		}
	case 6:
		if !a.budget && a.kind != "DaemonSet" {
			a.budget = true
			field := pick(g, "minAvailable", "maxUnavailable")
			g.add(budget(a.name, field, pick(g, "0", "1", "2", "50%")))
		} else if !g.faults {
			g.add(evict(a.name))
		}
	case 7:
		if !a.service {
			a.service = true
			g.add(service(a.name))
		}
	case 8:
		g.add(remove(a.kind, a.name, pick(g, "", "Background", "Foreground", "Orphan")))
		g.apps = slices.Delete(g.apps, i, i+1)
	}
}

// fault adds a step that concerns a Node.
func (g *generator) fault() {
	switch n := fmt.Sprintf("n%d", 1+g.IntN(Nodes)); {
	case g.tainted:
		g.add(untaint("n1"))
		g.tainted = false
	case len(g.cordoned) > 0 && g.IntN(2) == 0:
		g.add(uncordon(g.cordoned[0]))
		g.cordoned = g.cordoned[1:]
	case len(g.cordoned) == 0 && g.IntN(3) == 0:
		g.add(taint("n1", pick(g, "NoExecute", "NoSchedule")))
		g.tainted = true
	case !slices.Contains(g.cordoned, n):
		g.add(pick(g, cordon, drain)(n))
		g.cordoned = append(g.cordoned, n)
	}
}

// last adds a step with what goes on by itself.
func (g *generator) last() {
	name := "last"
	switch g.IntN(4) {
	case 0:
		g.add(pod(name, "crash", onNode("n2")).until(restarts(name, 1, 1, "CrashLoopBackOff")))
	case 1:
		g.add(pod(name, "missing", onNode("n2")))
	case 2:
		g.add(pod(name, "broken", onNode("n2")))
	case 3:
		g.add(job(name, "fail", set("1", "spec", "backoffLimit"), onNode("n2")).until(jobEnds(name)))
	}
}

// Nodes is the number of Nodes of the clusters.
const Nodes = 3
