package explore

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/fakecluster/fakecluster/inspect"
)

// fewestRepeats is how often an operator must send a write without effect before it is reported. The number
// of reconciliations differs a little from run to run, so one time less is enough for a trial that is
// repeated.
const fewestRepeats = 3

// checkQuietWrites checks that the operator, which was restarted when nothing had changed, does not repeat
// writes without effect. Its caches are new, so it knows the current objects.
func (p *player) checkQuietWrites() {
	if !p.subject.checks(QuietWrites) || len(p.fault) > 0 {
		return
	}
	fewest := fewestRepeats
	if p.patient || p.subject.Replay != "" { // it plays a trial again
		fewest--
	}
	times, again := map[string]int{}, map[string]inspect.Request{}
	for _, r := range p.operatorRequests() {
		if !hasNoEffect(r) {
			continue
		}
		line := p.line(r)
		times[line]++
		if !r.Time.Before(p.out.times[p.step]) {
			again[line] = r
		}
	}
	for _, line := range slices.Sorted(maps.Keys(again)) {
		if r := again[line]; times[line] >= fewest {
			p.report(problem{oracle: QuietWrites, key: p.codeOf(r.AuditID) + " " + r.Verb + " " + r.Resource + "/" + r.Subresource, step: p.step,
				what:   fmt.Sprintf("the operator has sent a write %d times that changes nothing, also after a restart when nothing had changed:", times[line]),
				detail: line})
		}
	}
}

// hasNoEffect reports whether a request is an update or a patch that does not change the object. It leaves
// out an apply, because an operator may apply without reading the object first, and writes with warnings.
func hasNoEffect(r inspect.Request) bool {
	return r.Repeats && r.Code == http.StatusOK && (r.Verb == "update" || r.Verb == "patch" && r.Patch != "apply") && !uncounted(r.Resource) &&
		len(r.Warnings) == 0 && !r.DropsStatus
}
