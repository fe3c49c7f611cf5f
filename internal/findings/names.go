package findings

import (
	"github.com/fakecluster/fakecluster/inspect"
)

// program is a program of a user.
type program struct{ user, name string }

func programOf(user, agent string) program { return program{user, inspect.ClientName(user, agent)} }

// sharedNames returns the names of programs that several users run.
func sharedNames(stats inspect.Stats) map[string]bool {
	users, shared := map[string]string{}, map[string]bool{}
	for counted := range stats {
		p := programOf(counted.User, counted.UserAgent)
		if user, ok := users[p.name]; ok && user != p.user {
			shared[p.name] = true
		}
		users[p.name] = p.user
	}
	return shared
}

// clientOf returns the name of a client: its program, and its user if several users run the program, as in a test that
// runs an operator.
func (c Source) clientOf(user, agent string) string {
	p := programOf(user, agent)
	if c.shared[p.name] && user != "" && user != p.name {
		return p.name + " (" + user + ")"
	}
	return p.name
}

func (c Source) client(q *inspect.Request) string { return c.clientOf(q.User, q.UserAgent) }

// watchedBy returns which resources each program watches, as GROUP/RESOURCE. A refused watch
// does not count.
func watchedBy(stats inspect.Stats) map[program]map[string]bool {
	watched := map[program]map[string]bool{}
	for counted, counts := range stats {
		if counted.Verb != "watch" || counts.Failures == counts.Requests {
			continue
		}
		p := programOf(counted.User, counted.UserAgent)
		if watched[p] == nil {
			watched[p] = map[string]bool{}
		}
		watched[p][counted.Group+"/"+counted.Resource] = true
	}
	return watched
}
