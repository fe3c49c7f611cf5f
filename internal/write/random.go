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

// Random generates uids and the suffixes of generated names. With a seed, the same calls in the same order return the
// same values. It is safe for concurrent use.
type Random struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

// NewRandom returns a source with the seed, or an unpredictable one if seed is nil. revision is that of the store, so
// that a cluster from a snapshot, with the seed of the cluster that wrote it, does not repeat uids.
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

// generatedNameLimit is the maximum length of the prefix of a generated name, which has at most 63 characters.
const generatedNameLimit = 63 - generatedSuffix

const generatedSuffix = 5

// Name appends five random characters to a generateName, from Kubernetes' alphabet without vowels.
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

// Below returns a number from 0 to bound-1. bound must be positive.
func (r *Random) Below(bound int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.source.Uint64() % uint64(bound))
}

// Fork returns an independent source, seeded by this one.
func (r *Random) Fork() *Random {
	r.mu.Lock()
	defer r.mu.Unlock()
	var key [32]byte
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], r.source.Uint64())
	}
	return &Random{source: rand.NewChaCha8(key)}
}
