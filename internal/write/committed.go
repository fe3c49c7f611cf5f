package write

import (
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Commit is what a write has committed.
type Commit struct {
	Resource  *resource.Resource
	Namespace string
	Name      string
	Record    store.Record // as committed
	Previous  store.Record // the zero value for a create
	Deleted   bool

	// Charged says that the commit has brought the quotas of the namespace up to date, except
	// for those with the keys in Unmeasured, which have to be measured again.
	Charged    bool
	Unmeasured []string
}
