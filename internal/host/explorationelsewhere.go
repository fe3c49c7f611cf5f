package host

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/fakecluster/fakecluster/internal/release"
)

// An exploration as another version of Kubernetes works in the host of that version. This host passes the lines, the bubbles and the reports on.

// otherExploration is an exploration in a host of another version.
type otherExploration struct {
	session *otherSession
	name    string // of the exploration there
}

// clusters returns the options of the clusters of an exploration.
func (e *Exploration) clusters() (clusters []*Start) {
	if e.Run != nil {
		clusters = append(clusters, &e.Run.Cluster)
	}
	for i := range e.Versions {
		clusters = append(clusters, &e.Versions[i].Cluster)
	}
	return clusters
}

// otherVersion returns the version of Kubernetes of an exploration that has to work in another host; empty: it works here.
func (e *Exploration) otherVersion() (string, error) {
	var versions []string
	for _, c := range e.clusters() {
		v := c.KubernetesVersion
		if other, err := isOther(v); err != nil {
			return "", err
		} else if !other {
			v = ""
		}
		versions = append(versions, v)
	}
	versions = slices.Compact(versions)
	switch len(versions) {
	case 0:
		return "", nil
	case 1:
		return versions[0], nil
	}
	here := release.Version().String()
	return "", refuse(http.StatusBadRequest, "kubernetesVersion: the versions of an operator run as one version of Kubernetes, and not as %s and %s: give both subjects the same remote.KubernetesVersion",
		cmp.Or(versions[0], here), cmp.Or(versions[1], here))
}

// workElsewhere explores in the host of another version, and passes its lines on. An error is that it has not begun.
func (x *exploration) workElsewhere(ctx context.Context, asked Exploration, version string, w http.ResponseWriter) error {
	there, err := x.host.otherSession(asked.Session, version)
	if err != nil {
		return err
	}
	asked.Session = there.id
	for _, c := range asked.clusters() {
		c.KubernetesVersion = ""
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	ctx, cancel := x.host.whileOpen(ctx)
	defer cancel()
	answer, err := there.send(ctx, http.MethodPost, "/v1/explorations", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	line, err := lines.ReadBytes('\n')
	if answer.StatusCode != http.StatusOK {
		w.Header()["Content-Type"] = answer.Header["Content-Type"]
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(line) // the client may have gone
		return nil
	}
	var first ExplorationLine
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil {
		return err
	}
	x.ctx, x.other = ctx, &otherExploration{there, first.Exploration}
	x.host.addExploration(x)
	defer x.host.removeExploration(x)
	x.tell(ExplorationLine{Exploration: x.id})
	for err == nil {
		line, err = lines.ReadBytes('\n')
		_, _ = w.Write(line)
		_ = x.flush()
	}
	if !errors.Is(err, io.EOF) {
		x.tell(ExplorationLine{Failed: "the host of Kubernetes " + version + " has ended: " + err.Error()})
	}
	return nil
}

// elsewhere returns an exploration that works in another host, or nil.
func (h *Host) elsewhere(exploration string) *exploration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.explorations[exploration]; x != nil && x.other != nil {
		return x
	}
	return nil
}

// passOn passes a report of a trial on.
func (x *exploration) passOn(c call, r TrialReport) error {
	if err := x.checkSession(r.Session); err != nil {
		return err
	}
	r.Session = x.other.session.id
	return x.other.session.do(c, http.MethodPost, "/v1/explorations/"+x.other.name+"/trials/"+c.path("trial"), r, nil)
}

// checkSession returns an error if the exploration lives in another session.
func (x *exploration) checkSession(session string) error {
	if x.session != session {
		return refuse(http.StatusConflict, "session: the exploration %s lives in another session", x.id)
	}
	return nil
}
