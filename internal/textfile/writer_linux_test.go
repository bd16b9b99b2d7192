package textfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mount puts a file system of its own at dir, or skips where only the administrator may.
func mount(t *testing.T, source, dir, fstype string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, dir, fstype, flags, data); err != nil {
		t.Skipf("mounting needs an administrator: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestXattrsAndAccessListsStay(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n-- plain --\np\n")
	name := filepath.Join(dir, "f")
	if err := unix.Setxattr(name, "user.note", []byte("kept"), 0); err != nil {
		t.Skipf("no extended attributes on this file system: %v", err)
	}
	// user::rw- user:12345:r-- group::r-- mask::r-- other::r--
	acl := new(bytes.Buffer)
	_ = binary.Write(acl, binary.LittleEndian, uint32(2))
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 4, 12345}, {4, 4, ^uint32(0)}, {16, 4, ^uint32(0)}, {32, 4, ^uint32(0)}} {
		_ = binary.Write(acl, binary.LittleEndian, uint16(e[0]))
		_ = binary.Write(acl, binary.LittleEndian, uint16(e[1]))
		_ = binary.Write(acl, binary.LittleEndian, e[2])
	}
	hasACL := unix.Setxattr(name, "system.posix_acl_access", acl.Bytes(), 0) == nil
	before, err := os.Stat(name)
	require.NoError(t, err)
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f"), Content: []byte("y\n")})
	require.NoError(t, err)
	assert.False(t, r.InPlace)
	after, err := os.Stat(name)
	require.NoError(t, err)
	assert.NotEqual(t, StatOf(before).Inode, StatOf(after).Inode)
	assert.Equal(t, before.Mode(), after.Mode())
	buf := make([]byte, 256)
	n, err := unix.Getxattr(name, "user.note", buf)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(buf[:n]))
	if hasACL {
		n, err = unix.Getxattr(name, "system.posix_acl_access", buf)
		require.NoError(t, err)
		assert.Equal(t, acl.Bytes(), buf[:n])
		// An access list that the directory gives to new files is not given to the file that had none.
		if unix.Setxattr(dir, "system.posix_acl_default", acl.Bytes(), 0) == nil {
			_, err = commitOne(root, Change{Op: Update, Path: resolve(t, root, "plain"), Content: []byte("q\n")})
			require.NoError(t, err)
			_, err = unix.Getxattr(filepath.Join(dir, "plain"), "system.posix_acl_access", buf)
			require.ErrorIs(t, err, unix.ENODATA)
			info, err := os.Stat(filepath.Join(dir, "plain"))
			require.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o644), info.Mode().Perm())
		}
	}
}

func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the administrator can give files away")
	}
	dir, root := tree(t, "-- f --\nx\n")
	name := filepath.Join(dir, "f")
	require.NoError(t, os.Chown(name, 1234, 2345))
	require.NoError(t, os.Chmod(name, 0o754|fs.ModeSetuid))
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f"), Content: []byte("y\n")})
	require.NoError(t, err)
	info, err := os.Stat(name)
	require.NoError(t, err)
	st := StatOf(info)
	assert.Equal(t, []uint32{1234, 2345}, []uint32{st.uid, st.gid})
	assert.Equal(t, fs.FileMode(0o754), info.Mode())
	assert.Contains(t, r.Note, "set-user-id")
}

// TestCapabilitiesAreNoted: like the set-user-id bit they do not outlive the content that they were given to.
func TestCapabilitiesAreNoted(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n")
	name := filepath.Join(dir, "f")
	// VFS_CAP_REVISION_2, effective, CAP_NET_BIND_SERVICE.
	caps := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(name, "security.capability", caps, 0); err != nil {
		t.Skipf("capabilities cannot be set here: %v", err)
	}
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f"), Content: []byte("y\n")})
	require.NoError(t, err)
	assert.Contains(t, r.Note, "capabilities were cleared")
	_, err = unix.Getxattr(name, "security.capability", make([]byte, 64))
	assert.ErrorIs(t, err, unix.ENODATA)
}

func TestDirectoryNotWritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the administrator may write everywhere")
	}
	dir, root := tree(t, "-- d/f --\nlonger old text\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o755) })
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "d/f"), Content: []byte("new\n")})
	require.NoError(t, err)
	assert.True(t, r.InPlace)
	assert.Contains(t, r.Note, "no new file")
	got, err := os.ReadFile(filepath.Join(dir, "d/f"))
	require.NoError(t, err)
	assert.Equal(t, "new\n", string(got))
	_, err = commitOne(root, Change{Op: Create, Path: resolve(t, root, "d/g"), Content: []byte("x")})
	require.ErrorIs(t, err, fs.ErrPermission)
	_, err = commitOne(root, Change{Op: Delete, Path: resolve(t, root, "d/f")})
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestForeignFileNotWritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the administrator may write everything")
	}
	_, root := tree(t, "-- f --\nx\n")
	ext, err := root.With("/etc/passwd")
	require.NoError(t, err)
	defer ext.Close()
	_, err = commitOne(ext, Change{Op: Update, Path: resolve(t, ext, "/etc/passwd"), Content: []byte("x")})
	require.ErrorIs(t, err, fs.ErrPermission)
}

// TestDiskFull: running out of space leaves the old files, on both ways of writing.
func TestDiskFull(t *testing.T) {
	dir, root := tree(t, "-- d/f --\nx\n")
	small := filepath.Join(dir, "d")
	mount(t, "tmpfs", small, "tmpfs", 0, "size=256k")
	old := bytes.Repeat([]byte("o"), 40_000)
	for _, n := range []string{"one", "two", "three"} {
		require.NoError(t, os.WriteFile(filepath.Join(small, n), old, 0o644))
	}
	require.NoError(t, os.Link(filepath.Join(small, "two"), filepath.Join(small, "twin")))
	before := picture(t, small)
	large := bytes.Repeat([]byte("n"), 200_000)
	for _, names := range [][]string{{"d/one"}, {"d/two"}, {"d/three", "d/two"}, {"d/three", "d/one"}, {"d/created"}} {
		var changes []Change
		for i, n := range names {
			content := large
			if i < len(names)-1 {
				content = []byte("small\n")
			}
			op := Update
			if n == "d/created" {
				op = Create
			}
			changes = append(changes, Change{Op: op, Path: resolve(t, root, n), Content: content})
		}
		_, err := (&Writer{Root: root}).Commit(context.Background(), changes)
		require.ErrorIs(t, err, unix.ENOSPC, "%v", names)
		assert.ErrorContains(t, err, "no space left")
		assert.Equal(t, before, picture(t, small), "%v", names)
	}

	// Moving to another file system copies.
	_, err := commitOne(root, Change{Op: Create, Path: resolve(t, root, "src"), Content: []byte("s\n")})
	require.NoError(t, err)
	_, err = commitOne(root, Change{Op: Move, Path: resolve(t, root, "src"), To: resolve(t, root, "d/sub/dst")})
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(small, "sub/dst"))
	assert.NoFileExists(t, filepath.Join(dir, "src"))
}

func TestReadOnlyMount(t *testing.T) {
	dir, root := tree(t, "-- d/f --\nx\n")
	ro := filepath.Join(dir, "d")
	mount(t, ro, ro, "", unix.MS_BIND, "")
	require.NoError(t, unix.Mount("", ro, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "d/f"), Content: []byte("y")})
	require.ErrorIs(t, err, ErrReadOnly)
	_, err = commitOne(root, Change{Op: Create, Path: resolve(t, root, "d/g"), Content: []byte("y")})
	require.ErrorIs(t, err, unix.EROFS)
}

// TestMountedFile: a file that is a mount point itself cannot be renamed over.
func TestMountedFile(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n-- over --\nover\n")
	mount(t, filepath.Join(dir, "over"), filepath.Join(dir, "f"), "", unix.MS_BIND, "")
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f"), Content: []byte("new\n")})
	require.NoError(t, err)
	assert.True(t, r.InPlace)
	got, err := os.ReadFile(filepath.Join(dir, "over"))
	require.NoError(t, err)
	assert.Equal(t, "new\n", string(got))
	assert.NotContains(t, picture(t, dir), TempSuffix)
}

func TestRunningProgram(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep command")
	}
	dir, root := tree(t, "-- x --\n\n")
	raw, err := os.ReadFile(sleep)
	require.NoError(t, err)
	name := filepath.Join(dir, "prog")
	require.NoError(t, os.WriteFile(name, raw, 0o755))
	cmd := exec.Command(name, "60")
	if strings.Contains(string(raw[:min(len(raw), 400_000)]), "busybox") {
		t.Skip("sleep is part of another program")
	}
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "prog"), Content: []byte("#!/bin/sh\n")})
	require.NoError(t, err)
	assert.Contains(t, r.Note, "running")
}

func TestUmaskIsTheKernels(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	_, err := commitOne(root, Change{Op: Create, Path: resolve(t, root, "new/f"), Content: []byte("x")})
	require.NoError(t, err)
	_, err = commitOne(root, Change{Op: Create, Path: resolve(t, root, "new/run"), Content: []byte("#!x"), Executable: true})
	require.NoError(t, err)
	for name, want := range map[string]fs.FileMode{"new": 0o750, "new/f": 0o640, "new/run": 0o750} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), name)
	}
}

func TestSpecialTargetsAreNotOpened(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	for _, op := range []Op{Update, Create, Delete} {
		_, err := commitOne(root, Change{Op: op, Path: resolve(t, root, "pipe"), Content: []byte("x")})
		require.ErrorContains(t, err, "named pipe")
	}
	_, err := (&Reader{Root: root}).Read(context.Background(), resolve(t, root, "pipe"), Query{})
	require.ErrorContains(t, err, "named pipe")
}

func TestKernelFileByExactGrant(t *testing.T) {
	_, root := tree(t, "-- x --\n\n")
	ext, err := root.With("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	defer ext.Close()
	p := resolve(t, ext, ext.Grants()[1])
	v, err := (&Reader{Root: ext}).Read(context.Background(), p, Query{Limit: 3})
	require.NoError(t, err)
	require.Len(t, v.Lines, 3)
	assert.True(t, strings.HasPrefix(v.Lines[0].Text, "Name:"))
	assert.NotZero(t, v.Size)
	_, err = (&Reader{Root: ext}).Read(context.Background(), resolve(t, ext, "/proc/version"), Query{})
	require.Error(t, err)
}
