package store

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tidwall/buntdb"
)

// buntdbTick is how long after its opening the goroutine of a buntdb wakes for the first time.
const buntdbTick = time.Second

// afterAll sorts after every key of a record, because those are text.
const afterAll = "\xff"

// openInMemory returns an empty buntdb whose goroutine ends when it wakes for the first time.
//
// That goroutine looks every second which entries have expired. No record ever does, so it would
// only cost: in a testing/synctest bubble, time passes as fast as its goroutines let it, and a year
// has 31 million seconds. So there is one entry that has expired from the start, and the one that is notified
// of it, which is that goroutine, ends. Reads never reach the entry: they stop at the last record.
func openInMemory() (*buntdb.DB, error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, fmt.Errorf("opening buntdb in memory: %w", err)
	}
	var config buntdb.Config
	if err := db.ReadConfig(&config); err != nil {
		return nil, err
	}
	config.OnExpired = func([]string) { runtime.Goexit() }
	if err := db.SetConfig(config); err != nil {
		return nil, err
	}
	return db, db.Update(func(tx *buntdb.Tx) error {
		_, _, err := tx.Set(afterAll, "", &buntdb.SetOptions{Expires: true})
		return err
	})
}

// waitForTick returns when the goroutine of a buntdb that has been closed is gone, in a testing/synctest bubble.
//
// The time of a bubble advances only when all of its goroutines wait. When it has passed the first
// tick, the goroutine has ended. Somebody else's goroutines may be about to end, too, so it lets that
// time pass even if the database has been open for longer. No lock is held here, so that a concurrent
// Close waits in the same way.
func waitForTick() { <-time.NewTimer(buntdbTick + time.Millisecond).C }
