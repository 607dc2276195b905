"""Write the evidence for a part of the past to one file that anybody can check offline."""
