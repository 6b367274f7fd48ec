"""Every public function at the corners of its dtypes: see README.md."""
