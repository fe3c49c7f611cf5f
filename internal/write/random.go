package write

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/store"
)

// Random makes uids and the random ends of generated names. With a seed, the
// same calls in the same order give the same values. It is safe for concurrent use.
type Random struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

// NewRandom makes a source with the seed, or an unpredictable one if that is nil. The revision is that
// of the store that the values are for: a cluster that goes on from a snapshot, with the seed that the
// snapshot was made with, does not give the same uids once more.
func NewRandom(seed *uint64, revision int64) *Random {
	var key [32]byte
	if seed != nil {
		binary.LittleEndian.PutUint64(key[:], *seed)
		binary.LittleEndian.PutUint64(key[8:], uint64(revision-store.FirstRevision))
	} else {
		_, _ = cryptorand.Read(key[:]) // never fails
	}
	return &Random{source: rand.NewChaCha8(key)}
}

// UID returns a new version 4 UUID.
func (r *Random) UID() types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := uuid.NewRandomFromReader(r.source)
	if err != nil {
		panic(err) // the source never fails
	}
	return types.UID(id.String())
}

// generatedNameLimit is the most that is kept of a generateName, so that the name fits into
// 63 characters.
const generatedNameLimit = 63 - generatedSuffix

const generatedSuffix = 5

// Name appends five random characters to a generateName, from the alphabet that
// Kubernetes uses so as not to spell words.
func (r *Random) Name(base string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	if len(base) > generatedNameLimit {
		base = base[:generatedNameLimit]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := []byte(base)
	for range generatedSuffix {
		name = append(name, alphabet[r.source.Uint64()%uint64(len(alphabet))])
	}
	return string(name)
}

// Below returns a number of at least 0 that is less than the bound, which must be positive.
func (r *Random) Below(bound int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.source.Uint64() % uint64(bound))
}

// Fork returns an independent source that is seeded by this one.
func (r *Random) Fork() *Random {
	r.mu.Lock()
	defer r.mu.Unlock()
	var key [32]byte
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], r.source.Uint64())
	}
	return &Random{source: rand.NewChaCha8(key)}
}
