package permission

const foldsCase = true
