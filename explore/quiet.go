package explore

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/fakecluster/fakecluster/inspect"
)

// fewestRepeats is how often an operator has to send a write without effect until that is not chance. How many passes it makes differs a little from run to
// run, so that one time less is enough for a trial that has shown it before.
const fewestRepeats = 3

// checkQuietWrites checks that the operator, which was started again when nothing had changed, does not write what is there already. Its caches are
// new, so that it knows what is there.
func (p *playing) checkQuietWrites() {
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

// hasNoEffect reports whether a request is an update or a patch after which the object is as before. An apply is left out, because an operator may
// apply what it wants without a look at what is there, and so is what the server has warned about.
func hasNoEffect(r inspect.Request) bool {
	return r.Repeats && r.Code == http.StatusOK && (r.Verb == "update" || r.Verb == "patch" && r.Patch != "apply") && !uncounted(r.Resource) &&
		len(r.Warnings) == 0 && !r.DropsStatus
}
