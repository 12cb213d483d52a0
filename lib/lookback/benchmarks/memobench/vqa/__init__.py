"""MemoBench's question banks: reading, generating, filtering and auditing them."""
