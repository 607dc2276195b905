"""Read, edit and keep exec-approvals.json."""
