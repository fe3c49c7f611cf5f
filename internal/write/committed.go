package write

import (
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Commit describes a committed write.
type Commit struct {
	Resource  *resource.Resource
	Namespace string
	Name      string
	Record    store.Record // as committed
	Previous  store.Record // the zero value for a create
	Deleted   bool

	// Charged: the commit has updated the quotas of the namespace, except those with the keys in Unmeasured, which must
	// be measured again.
	Charged    bool
	Unmeasured []string
}
