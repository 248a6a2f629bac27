package main

import (
	"fmt"
	"os"

	"github.com/linxGnu/grocksdb"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	db, err := grocksdb.OpenDb(options, os.Args[1])
	check(err)
	write := grocksdb.NewDefaultWriteOptions()
	read := grocksdb.NewDefaultReadOptions()
	check(db.Put(write, []byte("a"), []byte("one")))
	batch := grocksdb.NewWriteBatch()
	batch.Put([]byte("b"), []byte("two"))
	batch.Put([]byte("c"), []byte("three"))
	check(db.Write(write, batch))
	batch.Destroy()
	value, err := db.Get(read, []byte("b"))
	check(err)
	if string(value.Data()) != "two" {
		check(fmt.Errorf("b is %q", value.Data()))
	}
	value.Free()
	keys := ""
	it := db.NewIterator(read)
	for it.SeekToFirst(); it.Valid(); it.Next() {
		key := it.Key()
		keys += string(key.Data())
		key.Free()
	}
	check(it.Err())
	it.Close()
	if keys != "abc" {
		check(fmt.Errorf("the keys are %q", keys))
	}
	db.Close()
	read.Destroy()
	write.Destroy()
	options.Destroy()
	fmt.Println("grocksdb: open, put, get, iterate, batch, close")
}
