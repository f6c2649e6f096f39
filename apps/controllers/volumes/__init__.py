"""Volume controllers: bind claims and volumes, provision and reclaim volumes."""
