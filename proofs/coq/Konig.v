(** König's theorem: the edges of a bipartite multigraph, of which at most D meet in any
    vertex, have a colouring with D colours in which no two that meet have the same (D. König,
    Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre, Math. Ann. 77,
    1916). The proof is by Kempe's chains. *)
From Coq Require Import Bool List Arith Lia.
Import ListNotations.

(** From a vertex on the left to one on the right. *)
Definition edge := (nat * nat)%type.
Definition at_left (u : nat) (e : edge) : bool := fst e =? u.
Definition at_right (v : nat) (e : edge) : bool := snd e =? v.
Definition degree (f : edge -> bool) (es : list edge) : nat := length (filter f es).

(** An edge with its colour. *)
Definition coloured := (edge * nat)%type.
Definition differ (x y : coloured) : Prop := snd x = snd y -> fst (fst x) <> fst (fst y) /\ snd (fst x) <> snd (fst y).
Definition proper (cs : list coloured) : Prop := ForallOrdPairs differ cs.

Lemma differ_sym x y : differ x y -> differ y x.
Proof. unfold differ. intros H E. destruct (H (eq_sym E)). auto. Qed.
Lemma proper_pair cs x y : proper cs -> In x cs -> In y cs -> x = y \/ differ x y.
Proof.
  intros H Hx Hy. destruct (ForallOrdPairs_In H x y Hx Hy) as [|[|D]]; auto. right. apply differ_sym, D.
Qed.

(** A colour that is not used there. *)
Lemma free_colour D (used : list nat) : length used < D -> exists a, a < D /\ ~ In a used.
Proof.
  intros H. destruct (find (fun a => negb (existsb (Nat.eqb a) used)) (seq 0 D)) as [a|] eqn:E.
  - apply find_some in E. destruct E as [E F]. apply in_seq in E. exists a. split; [lia|]. intros Hin.
    apply negb_true_iff in F. assert (existsb (Nat.eqb a) used = true); [|congruence].
    apply existsb_exists. exists a. split; auto. apply Nat.eqb_refl.
  - exfalso. assert (incl (seq 0 D) used).
    { intros a Ha. pose proof (find_none _ _ E a Ha) as F. apply negb_false_iff, existsb_exists in F.
      destruct F as [b [Hb F]]. apply Nat.eqb_eq in F. congruence. }
    apply NoDup_incl_length in H0; [|apply seq_NoDup]. rewrite seq_length in H0. lia.
Qed.
Definition colours_at (f : edge -> bool) (cs : list coloured) : list nat := map snd (filter (fun x => f (fst x)) cs).
Lemma colours_degree f cs : length (colours_at f cs) = degree f (map fst cs).
Proof.
  unfold colours_at, degree. rewrite map_length. induction cs as [|x l IH]; simpl; auto. destruct (f (fst x)); simpl; auto.
Qed.

(** Vertices: of the left, and of the right. *)
Definition vertex := (bool * nat)%type.
Lemma vertex_dec (x y : vertex) : {x = y} + {x <> y}.
Proof. decide equality; [apply Nat.eq_dec|apply bool_dec]. Qed.
Definition inb (x : vertex) (l : list vertex) : bool := if in_dec vertex_dec x l then true else false.
Lemma inb_spec x l : inb x l = true <-> In x l.
Proof. unfold inb. destruct (in_dec vertex_dec x l); split; auto; discriminate. Qed.

Section Chain.
Variable cs : list coloured.
Variables a b v : nat.
Hypothesis fine : proper cs.
Hypothesis distinct_colours : a <> b.
(** [v], of the right, has no edge of colour b. *)
Hypothesis no_b : forall x, In x cs -> snd (fst x) = v -> snd x <> b.

(** What is reached from [v] by edges of colour a to the left and b to the right. *)
Definition grows (l : list vertex) (x : coloured) : option vertex :=
  if (snd x =? a) && inb (false, snd (fst x)) l && negb (inb (true, fst (fst x)) l) then Some (true, fst (fst x))
  else if (snd x =? b) && inb (true, fst (fst x)) l && negb (inb (false, snd (fst x)) l) then Some (false, snd (fst x))
  else None.
Definition reached (l : list vertex) : Prop :=
  In (false, v) l /\
  (forall r, In (false, r) l -> r = v \/ exists x, In x cs /\ snd x = b /\ snd (fst x) = r /\ In (true, fst (fst x)) l) /\
  (forall u, In (true, u) l -> exists x, In x cs /\ snd x = a /\ fst (fst x) = u /\ In (false, snd (fst x)) l).
Definition closed (l : list vertex) : Prop := forall x, In x cs -> grows l x = None.
Definition vertices : list vertex := (false, v) :: flat_map (fun x => [(true, fst (fst x)); (false, snd (fst x))]) cs.

Lemma chain n : forall l, length vertices - length l <= n -> NoDup l -> incl l vertices -> reached l ->
  exists l', reached l' /\ closed l'.
Proof.
  clear distinct_colours.
  induction n as [|n IH]; intros l Hn Hd Hi Hr;
    (destruct (find (fun x => match grows l x with Some _ => true | None => false end) cs) as [x|] eqn:E;
     [|exists l; split; auto; intros x Hx; pose proof (find_none _ _ E x Hx) as F; cbn beta in F; destruct (grows l x); congruence]).
  all: apply find_some in E; destruct E as [Hx E]; destruct (grows l x) as [w|] eqn:G; [|discriminate].
  all: assert (Hw : In w vertices /\ ~ In w l /\ reached (w :: l)).
  1, 3: unfold grows in G; destruct Hr as [R1 [R2 R3]];
    destruct ((snd x =? a) && inb (false, snd (fst x)) l && negb (inb (true, fst (fst x)) l)) eqn:F1;
    [injection G as <-; rewrite !andb_true_iff, negb_true_iff, Nat.eqb_eq, inb_spec in F1; destruct F1 as [[C1 C2] C3];
     split; [right; apply in_flat_map; exists x; simpl; auto|]; split; [rewrite <- inb_spec; congruence|];
     split; [right; auto|]; split;
     [intros r [H|H]; [discriminate|]; destruct (R2 r H) as [|[y [Y1 [Y2 [Y3 Y4]]]]]; [auto|]; right; exists y; simpl; auto
     |intros u [[= <-]|H]; [exists x; simpl; auto|]; destruct (R3 u H) as [y [Y1 [Y2 [Y3 Y4]]]]; exists y; simpl; auto]
    |destruct ((snd x =? b) && inb (true, fst (fst x)) l && negb (inb (false, snd (fst x)) l)) eqn:F2; [|discriminate];
     injection G as <-; rewrite !andb_true_iff, negb_true_iff, Nat.eqb_eq, inb_spec in F2; destruct F2 as [[C1 C2] C3];
     split; [right; apply in_flat_map; exists x; simpl; auto|]; split; [rewrite <- inb_spec; congruence|];
     split; [right; auto|]; split;
     [intros r [[= <-]|H]; [right; exists x; simpl; auto|]; destruct (R2 r H) as [|[y [Y1 [Y2 [Y3 Y4]]]]]; [auto|]; right; exists y; simpl; auto
     |intros u [H|H]; [discriminate|]; destruct (R3 u H) as [y [Y1 [Y2 [Y3 Y4]]]]; exists y; simpl; auto]].
  all: destruct Hw as [W1 [W2 W3]];
    assert (Hd' : NoDup (w :: l)) by (constructor; auto);
    assert (Hi' : incl (w :: l) vertices) by (intros y [<-|Hy]; auto);
    pose proof (NoDup_incl_length Hd' Hi') as Len; cbn [length] in Len.
  - lia.
  - apply (IH (w :: l)); auto. cbn [length]. lia.
Qed.

Variable l : list vertex.
Hypothesis is_reached : reached l.
Hypothesis is_closed : closed l.

(** An edge of either colour has both its ends in the chain, or neither. *)
Lemma both_ends x : In x cs -> snd x = a \/ snd x = b -> inb (true, fst (fst x)) l = inb (false, snd (fst x)) l.
Proof.
  intros Hx Hc. destruct is_reached as [R1 [R2 R3]]. specialize (is_closed x Hx). unfold grows in is_closed.
  destruct (inb (true, fst (fst x)) l) eqn:L, (inb (false, snd (fst x)) l) eqn:R; auto; exfalso.
  - destruct Hc as [Hc|Hc].
    + apply inb_spec in L. destruct (R3 _ L) as [y [Y1 [Y2 [Y3 Y4]]]].
      destruct (proper_pair cs x y fine Hx Y1) as [->|D]; [apply inb_spec in Y4; congruence|].
      destruct (D ltac:(congruence)). congruence.
    + rewrite Hc, Nat.eqb_refl in is_closed. destruct (b =? a); simpl in is_closed; discriminate.
  - destruct Hc as [Hc|Hc].
    + rewrite Hc, Nat.eqb_refl in is_closed. simpl in is_closed. discriminate.
    + apply inb_spec in R. destruct (R2 _ R) as [E|[y [Y1 [Y2 [Y3 Y4]]]]]; [apply (no_b x Hx E Hc)|].
      destruct (proper_pair cs x y fine Hx Y1) as [->|D]; [apply inb_spec in Y4; congruence|].
      destruct (D ltac:(congruence)). congruence.
Qed.

Definition swapped (c : nat) : nat := if c =? a then b else if c =? b then a else c.
Definition swap (x : coloured) : coloured := if inb (true, fst (fst x)) l then (fst x, swapped (snd x)) else x.
Lemma swapped_once c d : swapped c = swapped d -> c = d.
Proof.
  unfold swapped. destruct (Nat.eqb_spec c a), (Nat.eqb_spec c b), (Nat.eqb_spec d a), (Nat.eqb_spec d b); lia.
Qed.
Lemma swap_fst x : fst (swap x) = fst x.
Proof. unfold swap. destruct (inb _ _); reflexivity. Qed.
Lemma swap_differ x y : In x cs -> In y cs -> differ x y -> differ (swap x) (swap y).
Proof.
  intros Hx Hy D E. rewrite !swap_fst.
  destruct (Nat.eq_dec (snd x) (snd y)) as [Q|Q]; [apply D, Q|].
  assert (Z : forall c d, c <> d -> swapped c = d -> (c = a \/ c = b) /\ (d = a \/ d = b)).
  { intros c d. unfold swapped. destruct (Nat.eqb_spec c a), (Nat.eqb_spec c b); lia. }
  pose proof (both_ends x Hx) as Bx. pose proof (both_ends y Hy) as By. unfold swap in E.
  destruct (inb (true, fst (fst x)) l) eqn:Lx, (inb (true, fst (fst y)) l) eqn:Ly; cbn [snd] in E.
  - apply swapped_once in E. congruence.
  - destruct (Z _ _ Q E) as [Cx Cy]. specialize (Bx Cx). specialize (By Cy). split; intros F; rewrite F in *; congruence.
  - destruct (Z _ _ (not_eq_sym Q) (eq_sym E)) as [Cy Cx]. specialize (Bx Cx). specialize (By Cy). split; intros F; rewrite F in *; congruence.
  - congruence.
Qed.
Lemma swap_proper : proper (map swap cs).
Proof.
  assert (G : forall k, incl k cs -> proper k -> proper (map swap k)).
  { induction k as [|x k IH]; intros Hi H; simpl; [constructor|]. inversion H as [|? ? Hx Hk]; subst. constructor.
    - rewrite Forall_forall in *. intros y Hy. apply in_map_iff in Hy. destruct Hy as [z [<- Hz]].
      apply swap_differ; [apply Hi; left; auto|apply Hi; right; auto|]. apply Hx, Hz.
    - apply IH; auto. intros y Hy. apply Hi. right. auto. }
  apply G; auto. apply incl_refl.
Qed.
(** Now [v] has no edge of colour a, and who had none on the left has none still. *)
Lemma v_lacks_a x : In x cs -> snd (fst x) = v -> snd (swap x) <> a.
Proof.
  intros Hx Hv E. destruct is_reached as [R1 _]. unfold swap in E. destruct (inb (true, fst (fst x)) l) eqn:L.
  - cbn [snd] in E. unfold swapped in E. destruct (Nat.eqb_spec (snd x) a); [congruence|].
    destruct (Nat.eqb_spec (snd x) b) as [C|]; [apply (no_b x Hx Hv C)|congruence].
  - rewrite (both_ends x Hx (or_introl E)), Hv in L. apply inb_spec in R1. congruence.
Qed.
Lemma left_lacks_a u : (forall x, In x cs -> fst (fst x) = u -> snd x <> a) ->
  forall x, In x cs -> fst (fst x) = u -> snd (swap x) <> a.
Proof.
  intros Hu x Hx Eu E. destruct is_reached as [_ [_ R3]]. unfold swap in E. destruct (inb (true, fst (fst x)) l) eqn:L.
  - apply inb_spec in L. destruct (R3 _ L) as [y [Y1 [Y2 [Y3 Y4]]]]. apply (Hu y Y1); congruence.
  - apply (Hu x Hx Eu E).
Qed.
Lemma swapped_less D : a < D -> b < D -> forall x, snd x < D -> snd (swap x) < D.
Proof. intros Ha Hb x Hx. unfold swap, swapped. destruct (inb (true, fst (fst x)) l); cbn [snd]; auto.
  destruct (snd x =? a), (snd x =? b); auto.
Qed.
End Chain.

Theorem konig D es : (forall u, degree (at_left u) es <= D) -> (forall v, degree (at_right v) es <= D) ->
  exists cs : list coloured, map fst cs = es /\ proper cs /\ forall x, In x cs -> snd x < D.
Proof.
  induction es as [|[u v] es IH]; intros Hu Hv; [exists []; split; [reflexivity|]; split; [constructor|intros ? []]|].
  assert (Less : forall f : edge -> bool, degree f es <= degree f ((u, v) :: es)).
  { intros f. unfold degree. simpl. destruct (f (u, v)); simpl; lia. }
  destruct IH as [cs [E [P C]]]; [intros x; eapply Nat.le_trans; [apply Less|apply Hu]|intros x; eapply Nat.le_trans; [apply Less|apply Hv]|].
  destruct (free_colour D (colours_at (at_left u) cs)) as [a [Ha Fa]].
  { rewrite colours_degree, E. specialize (Hu u). unfold degree, at_left in *. simpl in Hu. rewrite Nat.eqb_refl in Hu. simpl in Hu. lia. }
  destruct (free_colour D (colours_at (at_right v) cs)) as [b [Hb Fb]].
  { rewrite colours_degree, E. specialize (Hv v). unfold degree, at_right in *. simpl in Hv. rewrite Nat.eqb_refl in Hv. simpl in Hv. lia. }
  assert (Na : forall x, In x cs -> fst (fst x) = u -> snd x <> a).
  { intros x Hx Ex <-. apply Fa. unfold colours_at. apply in_map, filter_In. split; auto. apply Nat.eqb_eq, Ex. }
  assert (Nb : forall x, In x cs -> snd (fst x) = v -> snd x <> b).
  { intros x Hx Ex <-. apply Fb. unfold colours_at. apply in_map, filter_In. split; auto. apply Nat.eqb_eq, Ex. }
  assert (Add : forall ds, map fst ds = es -> proper ds -> (forall x, In x ds -> snd x < D) ->
     (forall x, In x ds -> fst (fst x) = u -> snd x <> a) -> (forall x, In x ds -> snd (fst x) = v -> snd x <> a) ->
     exists cs, map fst cs = (u, v) :: es /\ proper cs /\ forall x, In x cs -> snd x < D).
  { intros ds E' P' C' Nu Nv. exists (((u, v), a) :: ds). split; [exact (f_equal (cons (u, v)) E')|]. split; [|intros x [<-|Hx]; auto].
    constructor; auto. rewrite Forall_forall. intros x Hx Q. cbn [fst snd] in *. split; intros F; [apply (Nu x Hx (eq_sym F))|apply (Nv x Hx (eq_sym F))]; auto. }
  destruct (Nat.eq_dec a b) as [->|Hab]; [apply (Add cs); auto|].
  destruct (chain cs a b v (length (vertices cs v)) [(false, v)]) as [l [R K]].
  - simpl. lia.
  - constructor; [intros []|constructor].
  - intros x [<-|[]]. left. reflexivity.
  - split; [left; auto|]. split; [intros r [[= <-]|[]]; auto|intros w [H|[]]; discriminate].
  - apply (Add (map (swap a b l) cs)).
    + rewrite map_map, <- E. apply map_ext. intros x. apply swap_fst.
    + eapply (swap_proper cs a b v); eauto.
    + intros x Hx. apply in_map_iff in Hx. destruct Hx as [y [<- Hy]]. apply (swapped_less a b l D Ha Hb), C, Hy.
    + intros x Hx. apply in_map_iff in Hx. destruct Hx as [y [<- Hy]]. rewrite swap_fst. eapply (left_lacks_a cs a b v); eauto.
    + intros x Hx. apply in_map_iff in Hx. destruct Hx as [y [<- Hy]]. rewrite swap_fst. eapply (v_lacks_a cs a b v); eauto.
Qed.
